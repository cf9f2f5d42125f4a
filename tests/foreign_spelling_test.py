"""Foreign spellings of arguments and keys stand in the field catalog only; other code uses its constants."""
import os
import re
import unittest

from tests import tracked_files

CATALOG = "formats/intermediate/field_catalog.h"
# The generator writes Kineto's dialect the way Kineto does: as the other side of the tests, it must not share our words.
EXEMPT = re.compile(r"^formats/intermediate/field_catalog[.]|^tools/tracegen/|/testing/|/testdata/|(_test|_fuzz|_benchmark)[.](cc|h)$|_test_\w+[.]h$")
CHECKED = re.compile(r"^(formats|analysis|capture|tools)/.*[.](cc|h)$")
CONSTANT = re.compile(r'inline constexpr absl::string_view (k\w+) = "([^"]+)";')
COMMENT = re.compile(r"(^|[ \t])//.*$", re.M)


def distinctive(spelling):
    """Whether a spelling can be nothing but the foreign one. ("correlation" is also our name of a core column.)"""
    return bool(re.search(r"[A-Z %]", spelling)) or spelling in ("ac2g", "fwdbwd")


def constants(catalog_text):
    """spelling -> constant, for the distinctive ones."""
    return {spelling: name for name, spelling in CONSTANT.findall(catalog_text) if distinctive(spelling)}


def findings(text, catalog):
    """(line number, spelling) of each string literal in C++ text that is, or quotes, a foreign spelling."""
    found = []
    for number, line in enumerate(COMMENT.sub("", text).splitlines(), 1):
        for spelling in catalog:
            if '"%s"' % spelling in line or '\\"%s\\"' % spelling in line:
                found.append((number, spelling))
    return found


class ForeignSpelling(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(tracked_files.root(), CATALOG)) as file:
            self.catalog = constants(file.read())

    def test_knows_the_catalog(self):
        self.assertGreater(len(self.catalog), 40)
        self.assertEqual(self.catalog["External id"], "kExternalId")

    def test_notices_literals_but_not_comments(self):
        self.assertEqual(findings('x;\nFind("External id");', self.catalog), [(2, "External id")])
        self.assertEqual(findings('Write("{\\"traceEvents\\": [");', self.catalog), [(1, "traceEvents")])
        self.assertEqual(findings('Find(fields::kExternalId);  // "External id"', self.catalog), [])

    def test_spellings_stand_in_the_catalog_only(self):
        found = []
        for name in tracked_files.tracked_files():
            if not CHECKED.match(name) or EXEMPT.search(name):
                continue
            with open(os.path.join(tracked_files.root(), name), encoding="utf-8") as file:
                for number, spelling in findings(file.read(), self.catalog):
                    found.append('%s:%d: "%s", use fields::%s' % (name, number, spelling, self.catalog[spelling]))
        self.assertFalse(found, "\n" + "\n".join(found))


if __name__ == "__main__":
    unittest.main()
