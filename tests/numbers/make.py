#!/usr/bin/env python3
"""Writes by_library.csv: numbers of many countries in notations of their users, as the PyPI package reads them.

    pip install phonenumbers==9.0.33 && tests/numbers/make.py

With --check it only compares. An empty number means that the text is refused.
"""
import pathlib
import sys

import phonenumbers
from phonenumbers import PhoneNumberFormat as Format
from phonenumbers import PhoneNumberType as Kind
from phonenumbers.phonemetadata import PhoneMetadata

COUNTRIES = (
    "AR AT AU BE BG BR CA CH CL CN CO CZ DE DK EE EG ES FI FR GB GR HR HU IE IL IN IT JP KE KR LT LV MY NG NL NO NZ PH PL PT "
    "RO SE SG TR UA US ZA"
).split()


def notations(region):
    """Yields texts of a fixed line and of a mobile number."""
    trunk = PhoneMetadata.metadata_for_region(region).national_prefix
    for kind in (Kind.FIXED_LINE, Kind.MOBILE):
        number = phonenumbers.example_number_for_type(region, kind)
        national = phonenumbers.national_significant_number(number)
        code = number.country_code
        yield phonenumbers.format_number(number, Format.INTERNATIONAL)
        if kind == Kind.FIXED_LINE:
            yield f"00{code} {national}"
            yield phonenumbers.format_number(number, Format.RFC3966)
            if trunk:
                yield f"+{code} ({trunk}){national}"


def read(text):
    international = "+" + text[2:] if text.startswith("00") else text
    number = phonenumbers.parse(international, None)
    return phonenumbers.format_number(number, Format.E164) if phonenumbers.is_possible_number(number) else ""


lines = ["written,number"]
for region in COUNTRIES:
    lines += [f'{text},{read(text)}' for text in notations(region)]
made = "\n".join(lines) + "\n"
target = pathlib.Path(__file__).parent / "by_library.csv"
if "--check" in sys.argv:
    sys.exit(0 if target.read_text() == made else f"{target} differs from what the library says")
target.write_text(made)
