from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from cached import fsops
from cached.store import journal
from cached.store.records import PartRecord
from tests.unit.store.making import part

SIZE = 1 << 40
records = st.lists(
    st.builds(
        PartRecord,
        st.integers(0, SIZE // 2),
        st.integers(1, SIZE // 2),
        st.binary(min_size=16, max_size=16).map(bytes.hex),
        st.none() | st.integers(0, 2**64 - 1),
    ),
    max_size=8,
)


@given(records)
def test_what_was_written_is_read_back(written: list[PartRecord]) -> None:
    assert list(journal.decode(journal.encode(written), size=SIZE)) == written


@given(records, st.data())
def test_a_cut_journal_holds_its_whole_records(written: list[PartRecord], data: st.DataObject) -> None:
    text = journal.encode(written)
    cut = data.draw(st.integers(0, len(text)))
    assert list(journal.decode(text[:cut], size=SIZE)) == written[: cut // journal.RECORD]


@given(records.filter(bool), st.data())
def test_a_flipped_bit_ends_the_journal_at_its_record(written: list[PartRecord], data: st.DataObject) -> None:
    text = bytearray(journal.encode(written))
    bit = data.draw(st.integers(0, len(text) * 8 - 1))
    text[bit // 8] ^= 1 << bit % 8
    assert list(journal.decode(bytes(text), size=SIZE)) == written[: bit // 8 // journal.RECORD]


def test_zeros_after_a_crash_are_not_records() -> None:
    text = journal.encode([part(0, 10)]) + bytes(journal.RECORD * 3)
    assert journal.decode(text, size=100) == (part(0, 10),)


def test_a_record_outside_the_file_ends_the_journal() -> None:
    text = journal.encode([part(0, 10), part(95, 10), part(10, 10)])
    assert journal.decode(text, size=100) == (part(0, 10),)


def test_a_damaged_tail_is_cut_off_so_that_what_is_appended_is_found(tmp_path: Path) -> None:
    with fsops.create(tmp_path / "parts") as file:
        journal.append(file, [part(0, 10)])
        fsops.pwrite_all(file, b"torn", journal.RECORD)
        assert journal.load(file, size=100) == (part(0, 10),)
        journal.append(file, [part(10, 10)])
        assert journal.load(file, size=100) == (part(0, 10), part(10, 10))


def test_a_crc_of_zero_is_not_the_absence_of_one() -> None:
    written = [part(0, 1, checksum=0), part(1, 1, checksum=None)]
    assert list(journal.decode(journal.encode(written), size=2)) == written
