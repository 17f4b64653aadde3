#!/usr/bin/env python3
"""Makes the files of contacts beside it, as programs and people write them. What is read of each, or why it is refused,
is in `expected.json`; `adapters/rest/tests/it/contact_files.rs` uploads them all.

    pip install openpyxl xlwt && tests/files/make.py      needs LibreOffice (`soffice`) too

Files that only another program writes are made by their documented bytes.
"""

import csv
import gzip
import io
import pathlib
import shutil
import subprocess
import tempfile
import zipfile

import openpyxl
import xlwt

HERE = pathlib.Path(__file__).parent
HEAD = ["phone", "name", "city"]
PEOPLE = [
    ["+14155550101", "Ada", "Bonn"],
    ["+14155550102", "José Müller", "Köln"],
    ["+14155550103", "Zoë", "São Paulo"],
]
TABLE = [HEAD, *PEOPLE]
PLAIN = [HEAD, ["+14155550101", "Ada", "Bonn"], ["+14155550102", "Ben", "Paris"]]
BOM = "\ufeff"


def write(name, data):
    (HERE / name).write_bytes(data)


def text(name, content, encoding="utf-8"):
    write(name, content.encode(encoding))


def lines(rows, separator=",", end="\r\n"):
    return "".join(separator.join(row) + end for row in rows)


def quoted(rows, **how):
    out = io.StringIO()
    csv.writer(out, **{"quoting": csv.QUOTE_ALL, **how}).writerows(rows)
    return out.getvalue()


def zipped(**parts):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name.replace("__", "/").replace("_xml", ".xml")), content)
    return out.getvalue()


def excel():
    """Save as, in Excel for Windows and for the Mac."""
    text("excel-csv-utf8.csv", BOM + lines(TABLE))
    text("excel-csv-comma-delimited.csv", lines(TABLE), "windows-1252")
    text("excel-csv-msdos.csv", lines(PLAIN))
    text("excel-csv-macintosh.csv", lines(PLAIN, end="\r"))
    text("excel-csv-macintosh-accents.csv", lines(TABLE, end="\r"), "mac_roman")
    text("excel-unicode-text.csv", BOM + lines(TABLE, "\t"), "utf-16-le")
    text("excel-german.csv", lines(TABLE, ";"), "windows-1252")
    text("excel-german-utf8.csv", BOM + lines([["Telefon", "Name"], ["+4930123456", "Jörg; Chef"]], ";").replace("Jörg; Chef", '"Jörg; Chef"'))
    text("excel-text-tabs.csv", lines(TABLE, "\t"), "windows-1252")
    text("excel-sep-comma.csv", "sep=,\r\n" + lines(TABLE), "windows-1252")
    text("excel-sep-semicolon.csv", "sep=;\r\n" + lines(TABLE, ";"), "windows-1252")
    text("excel-sep-tab-utf16.csv", BOM + "sep=\t\r\n" + lines(TABLE, "\t"), "utf-16-le")
    text("excel-sep-with-bom.csv", BOM + '"sep=;"\r\n' + lines([*PLAIN, ["bad", "Cy", ""]], ";"))
    text("excel-trailing-columns.csv", lines([[*row, "", "", ""] for row in PLAIN]))
    text("excel-trailing-column-with-a-value.csv", lines([[*PLAIN[0], ""], [*PLAIN[1], ""], [*PLAIN[2], "note"]]))
    text("excel-cleared-rows.csv", lines([*PLAIN, ["", "", ""], ["", "", ""], ["", "", ""]]))
    text("excel-cleared-rectangle.csv", lines([*[[*row, ""] for row in PLAIN], [""] * 4, [""] * 4]))
    text("excel-cells-of-blanks.csv", lines([*PLAIN, [" ", "\u00a0", "  "], ["+14155550103", "Cy", ""]]))
    text("excel-scientific.csv", lines([HEAD, ["4.91512E+11", "Ada", ""], ["4,91512E+11", "Ben", ""], ["+14155550103", "Cy", ""]]).replace("4,91512E+11", '"4,91512E+11"'))
    text("excel-apostrophes.csv", lines([HEAD, ["'+14155550101", "Ada", "'Bonn"], ["+14155550102", "O'Neil", ""]]))
    text("excel-quoted-newlines.csv", 'phone,name,note\r\n+14155550101,Ada,"first\nsecond"\r\n+14155550102,Ben,"a ""b"""\r\n12,Cy,"x\r\ny"\r\n')
    text("excel-shifted-header.csv", lines([["", "", ""], HEAD, PEOPLE[0], ["", "", ""], ["12", "Ben", ""]]))
    write("excel-workbook-2003-xml.csv", b'<?xml version="1.0"?>\r\n<?mso-application progid="Excel.Sheet"?>\r\n<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"></Workbook>\r\n')
    write("excel-binary-workbook.csv", zipped(_rels="x", xl__workbook_bin="x").replace(b"workbook_bin", b"workbook.bin"))


def workbooks(work):
    """Files of another format, renamed."""
    book = openpyxl.Workbook()
    for row in TABLE:
        book.active.append(row)
    book.save(work / "book.xlsx")
    shutil.copy(work / "book.xlsx", HERE / "openpyxl-workbook.csv")
    old = xlwt.Workbook()
    sheet = old.add_sheet("People")
    for nth, row in enumerate(TABLE):
        for column, cell in enumerate(row):
            sheet.write(nth, column, cell)
    old.save(str(HERE / "excel-97-workbook.csv"))
    for kind, name in [("ods", "libreoffice-sheet.csv"), ("pdf", "libreoffice-printed.csv"), ("html", "libreoffice-web-page.csv")]:
        convert(work, kind)
        shutil.copy(work / f"book.{kind}", HERE / name)
    # Field separator, text delimiter, character set (76 is UTF-8, 1 windows-1252), first line, column formats,
    # language, quote all text cells.
    for options, name in [
        ("44,34,76,1", "libreoffice-comma.csv"),
        ("59,34,76,1", "libreoffice-semicolon.csv"),
        ("44,34,1,1", "libreoffice-windows-1252.csv"),
        ("9,34,65535,1", "libreoffice-utf16-tab.csv"),
        ("44,34,76,1,,0,true", "libreoffice-all-quoted.csv"),
    ]:
        convert(work, f'csv:"Text - txt - csv (StarCalc)":{options}')
        shutil.copy(work / "book.csv", HERE / name)
    # A sheet as LibreOffice writes it whose used range is larger than its content.
    book.active["H9"] = " "
    book.save(work / "book.xlsx")
    convert(work, 'csv:"Text - txt - csv (StarCalc)":44,34,76,1')
    shutil.copy(work / "book.csv", HERE / "libreoffice-larger-range.csv")


def convert(work, kind):
    profile = f"-env:UserInstallation=file://{work}/profile"
    command = ["soffice", "--headless", profile, "--convert-to", kind.replace('"', ""), "--outdir", str(work), str(work / "book.xlsx")]
    subprocess.run(command, check=True, capture_output=True)


def services():
    """Exports of services, by the columns that they document."""
    text("google-sheets.csv", lines(TABLE).removesuffix("\r\n"))
    text("google-sheets-empty-rows.csv", lines([*PLAIN, ["", "", ""], ["+14155550103", "Cy", ""], ["", "", ""]]).removesuffix("\r\n"))
    contacts = [["First Name", "Last Name", "Labels", "E-mail 1 - Label", "E-mail 1 - Value", "Phone 1 - Label", "Phone 1 - Value"],
                ["Ada", "King", "* myContacts", "* ", "ada@example.com", "Mobile", "+1 415-555-0101"]]
    text("google-contacts.csv", lines(contacts, end="\n"))
    hubspot = [["Record ID", "First Name", "Last Name", "Email", "Phone Number", "Lead Status"],
               ["101", "Ada", "King", "ada@example.com", "+1 415 555 0101", "Open, new"],
               ["102", "Ben", "Né", "", "", ""]]
    text("hubspot.csv", quoted(hubspot, lineterminator="\n"))
    salesforce = [["First Name", "Last Name", "Title", "Account Name", "Phone", "Mobile", "Email"],
                  ["Ada", "King", "CEO; founder", "Acme, Inc.", "(415) 555-0101", "+1 (415) 555-0101", "ada@example.com"]]
    text("salesforce-report.csv", quoted(salesforce), "iso-8859-1")
    footer = [*salesforce, [""], ["Contacts and accounts"], ["Copyright (c) 2000-2026 salesforce.com, inc. All rights reserved."]]
    text("salesforce-report-with-footer.csv", quoted(footer))
    write("salesforce-xls-report.csv", b'<head><meta http-equiv="Content-Type" content="text/html; charset=UTF-8"></head><table><tr><th>Phone</th></tr></table>')
    pipedrive = [["Person - ID", "Person - Name", "Person - Phone - Mobile", "Person - Email - Work"], ["7", "Ada King", "+14155550101", "ada@example.com"]]
    text("pipedrive.csv", quoted(pipedrive, lineterminator="\n"))
    outlook = [["First Name", "Last Name", "Business Phone", "Mobile Phone", "E-mail Address", "Notes"],
               ["Ada", "Müller", "", "+1 415 555 0101", "ada@example.com", "met in\r\nBonn"]]
    text("outlook.csv", quoted(outlook), "windows-1252")
    text("pandas-with-index.csv", lines([["", *HEAD], ["0", *PEOPLE[0]]], end="\n"))
    write("addresses.vcf.csv", b"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ada\r\nTEL:+14155550101\r\nEND:VCARD\r\n")
    write("export.json.csv", b'[{"phone": "+14155550101", "name": "Ada"}]\n')
    write("archive.zip.csv", zipped(contacts_csv="phone\n+14155550101\n"))
    write("contacts.gz.csv", gzip.compress(lines(PLAIN).encode(), mtime=0))


def people():
    """Files as people write, mend and join them."""
    text("lines-of-blanks.csv", "phone,name\n+14155550101,Ada\n   \n12,Ben\n\t\n+14155550103,Cy\n")
    text("mixed-line-ends.csv", "phone,name\r\n+14155550101,Ada\n+14155550102,Ben\r+14155550103,Cy\r\n\r\n13,Di\r14,Ed\n")
    text("blank-rows-in-the-middle.csv", 'phone,name\n+14155550101,Ada\n\n,\n"",""\n+14155550102,Ben\n\n\n')
    text("header-with-a-semicolon.csv", '"Name; Titel",phone\nAda; Dr.,+14155550101\n')
    text("header-with-a-plain-semicolon.csv", "Name; Titel,phone\nAda; Dr.,+14155550101\n")
    text("header-with-a-semicolon-and-no-phone.csv", '"Name; Titel",Tel.-Nr.\nAda; Dr.,+14155550101\n')
    text("header-with-a-comma.csv", "Name, Vorname;phone\nKing, Ada;+14155550101\n")
    text("header-twice.csv", "phone,city,city\n+14155550101,a,b\n")
    text("header-only.csv", "phone,name\n")
    text("header-missing.csv", "+14155550101,Ada\n+14155550102,Ben\n")
    text("column-without-header.csv", "phone,,city\n+14155550101,x,Bonn\n")
    write("empty.csv", b"")
    text("bom-only.csv", BOM)
    text("only-commas.csv", ",,\n,,\n")
    text("utf16-big-endian.csv", BOM + lines(TABLE, end="\n"), "utf-16-be")
    text("utf16-without-bom.csv", lines(TABLE), "utf-16-le")
    write("utf16-cut-off.csv", (BOM + lines(PLAIN)).encode("utf-16-le")[:-5])
    write("nul-bytes.csv", b"phone,name\n+14155550101,Ada\n+14155550102,B\x00n\n")
    write("two-encodings.csv", "phone,name\n+14155550101,Zoë\n".encode() + "+14155550102,José\n".encode("windows-1252"))
    write("no-encoding.csv", b"phone,name\n+14155550101,Ada\n+14155550102,\x81\x8d\xe9\n")
    text("ragged.csv", "phone,name,city\n+14155550101,Ada\n+14155550102,Ben,Bonn,x\n+14155550103,Cy,Paris\n")
    text("numbers-with-invisible-characters.csv", "phone,name\n\u202a+14155550101\u202c,Ada\n\u200e+1 415 555 0102\u200f,Ben\n\u2060+14155550103\ufeff,Cy\n")
    text("wrong-numbers-with-invisible-characters.csv", "phone,name\n\u202d12ab\u202c,Ada\n+14155550102,Ben\n")
    text("the-same-number-twice.csv", "phone,name\n+14155550101,Ada\n\n\"+1 (415) 555-0101\",Ben\n+14155550103,Cy\n")
    text("open-quote.csv", 'phone,name\n+14155550101,Ada\n+14155550102,"Ben\n+14155550103,Cy\n')
    text("quotes-inside.csv", 'phone,name\n+14155550101,Ada "the first" King\n+14155550102,"Ben" B.\n')


if __name__ == "__main__":
    excel()
    services()
    people()
    with tempfile.TemporaryDirectory() as folder:
        workbooks(pathlib.Path(folder))
    print(len(list(HERE.glob("*.csv"))), "files")
