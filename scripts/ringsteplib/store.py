# SPDX-License-Identifier: GPL-2.0-or-later
"""The results of earlier runs, by digest: the same digest is never simulated twice unless asked."""

import json
import sqlite3

from . import digest, metrics

_SCHEMA = """CREATE TABLE IF NOT EXISTS runs (
    digest TEXT PRIMARY KEY, arithmetic TEXT NOT NULL, record TEXT NOT NULL)"""


class Store:
    """`get` and `put` records of runs; safe for several processes at once."""

    def __init__(self, cache):
        self.path = self.path_in(cache)
        self.arithmetic = digest.of_file(metrics.__file__)
        with self._open() as database:
            database.execute(_SCHEMA)

    @staticmethod
    def path_in(cache):
        return cache.folder() / "results.sqlite"

    def get(self, key):
        """The record of the run with digest KEY, or None."""
        with self._open() as database:
            row = database.execute("SELECT record FROM runs WHERE digest = ? AND arithmetic = ?",
                                   (key, self.arithmetic)).fetchone()
        return json.loads(row[0]) if row else None

    def put(self, key, record):
        with self._open() as database:
            database.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)",
                             (key, self.arithmetic, json.dumps(record)))

    def _open(self):
        return _Transaction(self.path)


class _Transaction:
    """One connection, one transaction, closed at its end."""

    def __init__(self, path):
        self.connection = sqlite3.connect(path, timeout=60)

    def __enter__(self):
        return self.connection

    def __exit__(self, kind, *_):
        if kind is None:
            self.connection.commit()
        self.connection.close()
