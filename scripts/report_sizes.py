#!/usr/bin/python3
"""Lists C++ files over 500 lines and functions over 60: where splitting may pay. A report, never a failure."""
import pathlib
import re
import sys

NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
NOT_A_FUNCTION = re.compile(r"\b(namespace|class|struct|union|enum)\b[^()]*$|=\s*$")


def functions(text):
    """(first line, length, header) of each outermost block that is neither a namespace nor a type."""
    code = NOISE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    code = re.sub(r"^\s*#.*$", "", code, flags=re.M)
    stack, header_start, line, start_line = [], 0, 1, 1
    for position, character in enumerate(code):
        if character == "\n":
            line += 1
        elif character == "{":
            header = " ".join(code[header_start:position].split())
            inside = any(kind for kind, *_ in stack)
            is_function = not inside and ")" in header and not NOT_A_FUNCTION.search(header)
            stack.append((is_function, line, header))
            header_start = position + 1
        elif character == "}" and stack:
            is_function, start_line, header = stack.pop()
            if is_function:
                yield start_line, line - start_line + 1, header
            header_start = position + 1
        elif character == ";":
            header_start = position + 1


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    long_files, long_functions, num_files, num_functions = [], [], 0, 0
    for path in sorted(p for folder in ("app", "lib", "tests") for p in (root / folder).rglob("*")):
        if path.suffix not in (".h", ".cpp", ".cu"):
            continue
        text, name = path.read_text(), path.relative_to(root)
        num_files += 1
        lines = text.count("\n")
        if lines > 500:
            long_files.append(f"  {lines:5} lines  {name}")
        for line, length, header in functions(text):
            num_functions += 1
            if length > 60:
                long_functions.append(f"  {length:5} lines  {name}:{line}  {header[:80]}")
    print(f"{num_files} files, {len(long_files)} over 500 lines:", *long_files, sep="\n")
    print(f"{num_functions} functions, {len(long_functions)} over 60 lines:", *long_functions, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
