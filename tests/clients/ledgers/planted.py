"""Proof that the check sees: damages a good ledger in every way and demands that each is found."""

from .book import Book, Broken, check_commits, check_log

GROUP = ("members", "fsync", 0)


def example():
    """A small ledger with the log and the committed offsets that agree with it."""
    book, log = Book(), {("fsync", 0): [], ("fsync", 1): []}
    for number in range(40):
        partition = number % 2
        value = f"{'i' if number % 4 < 2 else 'p'}0-{number}"
        offset = len(log["fsync", partition])
        log["fsync", partition].append((offset, value))
        book.record_acked("fsync", partition, offset, value)
        book.record_consumed("fsync", partition, offset, value)
    for offset in (5, 9, 12):
        book.commit_sent(*GROUP, offset).state = "acked"
    book.commit_sent(*GROUP, 15)
    return book, log, {GROUP: 12}


def idempotent_at(log):
    """A partition and the index of two idempotent records of one producer in it."""
    for where, records in log.items():
        mine = [i for i, (_offset, value) in enumerate(records) if value.startswith("i0-")]
        if len(mine) > 2:
            return where, mine[0], mine[1]
    raise Broken("the log holds too few idempotent records to damage it")


def lose(book, log, _fetched):
    where = next(w for w in log if log[w])
    log[where] = log[where][:-1] if acked_last(book, where, log) else lose_acked(book, where, log)


def acked_last(book, where, log):
    return (*where, log[where][-1][0]) in book.acked


def lose_acked(book, where, log):
    last = max(offset for topic, p, offset in book.acked if (topic, p) == where)
    return [one for one in log[where] if one[0] < last]


def move(_book, log, _fetched):
    where = next(w for w in log if len(log[w]) > 1)
    log[where] = [(offset + 1, value) for offset, value in log[where]]


def swap(_book, log, _fetched):
    where, one, two = idempotent_at(log)
    records = log[where]
    (a, first), (b, second) = records[one], records[two]
    records[one], records[two] = (a, second), (b, first)


def double(_book, log, _fetched):
    where, one, _two = idempotent_at(log)
    log[where].append((log[where][-1][0] + 1, log[where][one][1]))


def repeat_offset(_book, log, _fetched):
    where = next(w for w in log if log[w])
    log[where].append((log[where][-1][0], "p9-1"))


def change_value(book, log, _fetched):
    where = next(w for w in log if log[w])
    index = next(i for i, (offset, _v) in enumerate(log[where]) if (*where, offset) in book.acked)
    log[where][index] = (log[where][index][0], "p9-2")


def forge_read(book, log, _fetched):
    where = next(w for w in log if log[w])
    book.consumed[(*where, log[where][-1][0] + 7)] = "p9-3"


def last_known(book):
    where = next(w for w, many in book.commits.items() if any(one.state == "acked" for one in many))
    return where, [one for one in book.commits[where] if one.state == "acked"][-1].offset


def commit_back(book, _log, fetched):
    where, offset = last_known(book)
    fetched[where] = offset - 1


def commit_ahead(book, _log, fetched):
    where, _offset = last_known(book)
    fetched[where] = max(one.offset for one in book.commits[where]) + 1


def commit_gone(book, _log, fetched):
    fetched[last_known(book)[0]] = -1


DAMAGE = [(lose, "lost"), (move, "elsewhere"), (swap, "order"), (double, "doubled"),
          (repeat_offset, "not unique"), (change_value, "lost"), (forge_read, "consumed record is lost"),
          (commit_back, "committed"), (commit_ahead, "committed"), (commit_gone, "committed")]


def detect_all(book, log, fetched):
    """Each damage, alone, must be named by the check.

    # Raises
    `Broken` when one passes unseen or is called something else.
    """
    for damage, word in DAMAGE:
        bad = book.copy(), {w: list(r) for w, r in log.items()}, dict(fetched)
        damage(*bad)
        try:
            check_commits(bad[0], bad[0], bad[2])
            check_log(bad[0], bad[1])
        except Broken as found:
            if word not in str(found):
                raise Broken(f"planted {damage.__name__} was reported as: {found}") from None
            print(f"planted {damage.__name__}: {found}")
            continue
        raise Broken(f"planted {damage.__name__} passed unseen")


def self_test():
    """Runs `detect_all` on a ledger made up for it."""
    book, log, fetched = example()
    check_commits(book, book, fetched)
    check_log(book, log)
    fetched[GROUP] = 15  # sent, no answer: allowed
    check_commits(book, book, fetched)
    fetched[GROUP] = 12
    detect_all(book, log, fetched)
    return f"ledger self-test: {len(DAMAGE)} kinds of damage, each found"
