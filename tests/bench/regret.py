"""How far from the best of each table searchers came, from the rows of schedulers.py, as a table for people (Markdown).

    regret.py ROWS...

Regret is (best found - best of the table) / (best of random search with `fifo` and as many workers - best of the table): 0 is the
best config, 1 as good as random search with full trainings. A cell is the mean over the tables of a file, with the standard error
over orders (that of the denominator is left out). `ahead` and `behind`: on how many of all tables it is so, against `random` under
the same scheduler, by more than twice the standard error of the difference.
"""
import csv
import math
import pathlib
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return {(row["task"], row["searcher"], row["scheduler"], int(row["workers"])): row for row in csv.DictReader(file)}


def regret(rows, task, searcher, scheduler, workers):
    """And its standard error."""
    best = float(rows[task, searcher, scheduler, workers]["table_best"])
    span = float(rows[task, "random", "fifo", workers]["best_mean"]) - best
    row = rows[task, searcher, scheduler, workers]
    return (float(row["best_mean"]) - best) / span, float(row["best_error"] or 0) / abs(span)


def cell(rows, *which):
    all_of = [regret(rows, key[0], *which) for key in rows if key[1:] == which]
    if not all_of:
        return "-"
    error = math.sqrt(sum(each[1] ** 2 for each in all_of)) / len(all_of)
    return f"{sum(each[0] for each in all_of) / len(all_of):.2f} ± {error:.2f}"


def against_random(files, searcher, *how):
    ahead = behind = 0
    for rows in files:
        for task in (key[0] for key in rows if key[1:] == (searcher, *how)):
            ours, its = regret(rows, task, searcher, *how), regret(rows, task, "random", *how)
            clear = 2 * math.hypot(ours[1], its[1])
            ahead += its[0] - ours[0] > clear
            behind += ours[0] - its[0] > clear
    return f"{ahead} | {behind}" if searcher != "random" else " | "


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    files = [read(path) for path in sys.argv[1:]]
    names = " | ".join(pathlib.Path(path).stem for path in sys.argv[1:])
    print(f"| workers | scheduler | searcher | orders | trials | {names} | ahead | behind |")
    print("| --- " * (7 + len(files)) + "|")
    seen = dict.fromkeys(key[1:] for rows in files for key in rows)
    for searcher, scheduler, workers in sorted(seen, key=lambda which: (which[2], which[1])):
        which = (searcher, scheduler, workers)
        rows = [row for each in files for key, row in each.items() if key[1:] == which]
        trials = sum(float(row["trials"]) for row in rows) / len(rows)
        cells = " | ".join(cell(each, *which) for each in files)
        print(f"| {workers} | {scheduler} | {searcher} | {rows[0]['seeds']} | {trials:,.0f} | {cells} | {against_random(files, searcher, scheduler, workers)} |")


if __name__ == "__main__":
    main()
