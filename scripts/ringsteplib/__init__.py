# SPDX-License-Identifier: GPL-2.0-or-later
"""The host side of ringstep: one module a concept; cli.py ties them together."""
