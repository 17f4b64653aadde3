#!/usr/bin/env python3
"""Writes phone_zones.txt from the data of Google's libphonenumber, as the Python package `phonenumbers` brings it.

    pip install phonenumbers==9.0.43 && ./phone_zones.py > phone_zones.txt

The library asks a number's kind before it believes a prefix: a mobile number of most countries has a prefix and lies
anywhere in its country. Here that question is answered once per prefix, so that the longest prefix is enough: one under
which numbers of no certain place are found gets the zones of the whole country.
"""

import random
import re
import sys

import phonenumbers
from phonenumbers.phonemetadata import PhoneMetadata
from phonenumbers.phonenumberutil import COUNTRY_CODE_TO_REGION_CODE, is_number_type_geographical
from phonenumbers.timezone import time_zones_for_number
from phonenumbers.tzdata import TIMEZONE_DATA

SAMPLES = 200
# What people call zones that the library has by a name of before.
RENAMED = {
    "America/Buenos_Aires": "America/Argentina/Buenos_Aires",
    "America/Godthab": "America/Nuuk",
    "Asia/Calcutta": "Asia/Kolkata",
    "Asia/Katmandu": "Asia/Kathmandu",
    "Asia/Rangoon": "Asia/Yangon",
    "Asia/Saigon": "Asia/Ho_Chi_Minh",
    "Atlantic/Faeroe": "Atlantic/Faroe",
    "Africa/Asmera": "Africa/Asmara",
    "Europe/Kiev": "Europe/Kyiv",
    "Pacific/Enderbury": "Pacific/Kanton",
    "Pacific/Ponape": "Pacific/Pohnpei",
    "Pacific/Truk": "Pacific/Chuuk",
}


def country_code(prefix):
    return next(prefix[:length] for length in (1, 2, 3) if int(prefix[:length]) in COUNTRY_CODE_TO_REGION_CODE)


def lengths(code):
    found = set()
    for region in COUNTRY_CODE_TO_REGION_CODE[int(code)]:
        metadata = PhoneMetadata.metadata_for_region(region, None)
        found.update(metadata.general_desc.possible_length if metadata else ())
    return sorted(found)


def examples():
    """A number of each kind in each region, in digits."""
    for region in phonenumbers.SUPPORTED_REGIONS:
        for kind in phonenumbers.PhoneNumberType.values():
            number = phonenumbers.example_number_for_type(region, kind)
            if number and phonenumbers.number_type(number) != phonenumbers.PhoneNumberType.UNKNOWN:
                yield phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)[1:]


EXAMPLES = sorted(set(examples()))


def samples(prefix, code):
    yield from (digits for digits in EXAMPLES if digits.startswith(prefix))
    chance = random.Random(prefix)
    for _ in range(SAMPLES):
        for length in lengths(code):
            rest = length + len(code) - len(prefix)
            if rest >= 0:
                yield prefix + "".join(chance.choice("0123456789") for _ in range(rest))


def one_region(prefix, code):
    """Whether the prefix is of one region that shares its code, such as an island's in North America's plan."""
    shared = [PhoneMetadata.metadata_for_region(region, None) for region in COUNTRY_CODE_TO_REGION_CODE[int(code)][1:]]
    leading = [metadata.leading_digits for metadata in shared if metadata and metadata.leading_digits]
    return any(re.match(f"(?:{digits})", prefix[len(code):]) for digits in leading)


def placeless(prefix, code):
    """Whether a sample of the prefix's numbers holds one that the library places in the country only."""
    if one_region(prefix, code):
        return False
    for digits in samples(prefix, code):
        try:
            kind = phonenumbers.number_type(phonenumbers.parse("+" + digits))
        except phonenumbers.NumberParseException:
            continue
        if kind != phonenumbers.PhoneNumberType.UNKNOWN and not is_number_type_geographical(kind, int(code)):
            return True
    return False


def table():
    zones = {}
    for prefix, names in TIMEZONE_DATA.items():
        code = country_code(prefix)
        whole = TIMEZONE_DATA.get(code, names)
        if prefix != code and set(names) != set(whole) and placeless(prefix, code):
            names = whole
        zones[prefix] = tuple(sorted(names))
    # An exchange that has no prefix of its own may be in any zone of its area code, in North America 1 and three digits.
    for area in {prefix[:4] for prefix in zones if prefix.startswith("1") and len(prefix) > 4}:
        zones[area] = tuple(sorted({zone for prefix in zones if prefix.startswith(area) for zone in zones[prefix]}))
    # A prefix that says what the one above it says is not needed.
    return {
        prefix: names
        for prefix, names in zones.items()
        if names != next((zones[prefix[:n]] for n in range(len(prefix) - 1, 0, -1) if prefix[:n] in zones), None)
    }


def check(zones):
    """The library's own answer for example numbers of each kind in each region is part of ours."""
    for digits in EXAMPLES:
        ours = next((zones[digits[:n]] for n in range(len(digits), 0, -1) if digits[:n] in zones), ())
        if one_region(digits, country_code(digits)):
            continue
        theirs = set(time_zones_for_number(phonenumbers.parse("+" + digits))) - {"Etc/Unknown"}
        assert theirs <= set(ours), (digits, theirs, ours)
    print(f"{len(EXAMPLES)} example numbers agree", file=sys.stderr)


def main():
    zones = table()
    check(zones)
    print(f"# Time zones by the first digits of a phone number: libphonenumber {phonenumbers.__version__}, reworked by")
    print("# phone_zones.py beside this file. Copyright (C) 2011-2026 The Libphonenumber Authors; Apache License, Version 2.0.")
    for prefix in sorted(zones):
        print(prefix, " ".join(sorted(RENAMED.get(name, name) for name in zones[prefix])))


main()
