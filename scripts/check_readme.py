#!/usr/bin/python3
"""Checks that the README files name only files that exist and options that scripts know.

    scripts/check_readme.py [ROOT]
"""
import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
PATH = re.compile(r"(?<![\w./~-])((?:\.ci|app|lib|configs|data|scripts|tests)/[\w./+*-]*[\w*/])")
# Places that a reader makes by following the text.
MADE_LATER = ("my_", "<", "runs/", "data/kjv", "data/de-en")


def names_in(text):
    for number, line in enumerate(text.splitlines(), 1):
        for match in LINK.finditer(line):
            if "://" not in match[1]:
                yield number, match[1]
        for match in PATH.finditer(line):
            yield number, match[1]


def faults(root):
    for readme in [root / "README.md", *sorted(root.glob("*/README.md")), *sorted(root.glob("lib/**/README.md"))]:
        if not readme.exists() or readme.parent.name.startswith("build"):
            continue
        for number, name in names_in(readme.read_text()):
            if any(part in name for part in MADE_LATER):
                continue
            near, far = readme.parent / name, root / name
            if not any(list(base.parent.glob(base.name)) for base in (near, far)):
                yield f"{readme.relative_to(root)}:{number}: {name} does not exist"


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    found = list(faults(root))
    print("\n".join(found) if found else "check_readme: every file named exists")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
