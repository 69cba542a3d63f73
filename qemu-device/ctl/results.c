/*
 * The results of a run
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "results.h"

/*
 * A guest that writes more than this is broken, and must not fill the host's
 * memory or disk.
 */
#define MOST_BYTES (16 * 1024 * 1024)

static char *results_path;
static GString *results;
static bool frozen;

void ringstep_results_open(const char *path)
{
    results_path = g_strdup(path);
    results = g_string_new(NULL);
}

bool ringstep_results_frozen(void)
{
    return frozen;
}

static bool wanted(void)
{
    return results && !frozen && results->len < MOST_BYTES;
}

void ringstep_result_add(const char *kind, const char *name, uint64_t value)
{
    if (wanted()) {
        g_string_append_printf(results, "%s %s %" PRIu64 "\n",
                               kind, name, value);
    }
}

void ringstep_result_line(const char *keyword, int64_t value)
{
    if (wanted()) {
        g_string_append_printf(results, "%s %" PRId64 "\n", keyword, value);
    }
}

void ringstep_result_text(const char *line)
{
    if (wanted()) {
        g_string_append(results, line);
        g_string_append_c(results, '\n');
    }
}

/* g_file_set_contents() writes aside and renames. */
static void write_file(const char *path, const void *data, size_t len)
{
    g_autoptr(GError) err = NULL;

    if (!g_file_set_contents(path, data, len, &err)) {
        error_report("cannot write the results: %s", err->message);
        exit(1);
    }
}

void ringstep_result_blob(const char *name, const void *data, size_t len)
{
    g_autofree char *folder = NULL;
    g_autofree char *path = NULL;

    if (!results || frozen) {
        return;
    }
    folder = g_path_get_dirname(results_path);
    path = g_build_filename(folder, name, NULL);
    write_file(path, data, len);
}

void ringstep_results_freeze(void)
{
    if (results && !frozen) {
        write_file(results_path, results->str, results->len);
    }
    frozen = true;
}
