/*
 * The results of a run: a text file and, beside it, files of raw data
 *
 * The text file has a line for each result, in the order of arrival:
 *
 *   metric NAME VALUE      what the benchmark measured
 *   counter NAME VALUE     what explains it
 *   text ...               for people
 *   exit CODE              the guest's exit code; without it the run did not
 *                          come to its end
 *   limit NS               virtual time ran out
 *
 * NAME is of [a-z0-9_.], VALUE a decimal number.  All of it is a function of
 * the run's inputs.  The file is complete or absent: it is written aside, and
 * renamed when the run ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_CTL_RESULTS_H
#define RINGSTEP_CTL_RESULTS_H

/**
 * ringstep_results_open: where the results go.
 * @path: of the text file; raw data goes to its folder.
 */
void ringstep_results_open(const char *path);

/**
 * ringstep_result_add: a number.
 * @kind: "metric" or "counter"
 */
void ringstep_result_add(const char *kind, const char *name, uint64_t value);

/**
 * ringstep_result_line: a line "@keyword @value".
 */
void ringstep_result_line(const char *keyword, int64_t value);

/**
 * ringstep_result_text: a line as it stands, without its newline.
 */
void ringstep_result_text(const char *line);

/**
 * ringstep_result_blob: raw data, as a file of that name beside the results.
 */
void ringstep_result_blob(const char *name, const void *data, size_t len);

/**
 * ringstep_results_freeze: the run is over; write the file.
 *
 * What comes later is ignored.
 */
void ringstep_results_freeze(void);

/**
 * ringstep_results_frozen: is the run over?
 */
bool ringstep_results_frozen(void);

#endif
