"""Where the measuring scripts write their results, and how they read them back."""

import argparse
import datetime
import json
import pathlib

RESULTS = pathlib.Path(__file__).resolve().parent / "results"


def parser(doc):
    """The options that every script has; its description is the first line of its documentation."""
    options = argparse.ArgumentParser(description=doc.split("\n")[0])
    options.add_argument("--out", type=pathlib.Path, help="the file of results")
    options.add_argument("--table", type=pathlib.Path, help="print the table of these results")
    return options


def place(args, kind):
    """The file of results: the one that is named, or that of this day."""
    return args.out or RESULTS / f"{datetime.date.today()}-{kind}.jsonl"


def read(path):
    """The lines of a file of results."""
    return [json.loads(line) for line in path.read_text().splitlines()]
