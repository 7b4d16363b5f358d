#!/usr/bin/python3
"""tests/cron/cron_reference.py CRON_TABLE: compares slots with croniter on 10,000 drawn expressions, every change of
the clocks of 20 zones over ten years with the rules of docs/schedules.md applied to croniter's times by Python's
zoneinfo, and the offsets of every zone of the system with zoneinfo. Prints what was compared; exit 1 on a difference."""
# The interpreter is Debian's, which has python3-croniter.

import datetime
import random
import subprocess
import sys
import zoneinfo

from croniter import croniter

EXPRESSIONS = 10_000
SLOTS_EACH = 5
YEARS = range(2020, 2030)
ZONES = """Europe/Berlin Europe/London Europe/Dublin Europe/Chisinau America/New_York America/Los_Angeles
 America/St_Johns America/Havana America/Asuncion America/Santiago Australia/Sydney Australia/Lord_Howe
 Pacific/Auckland Pacific/Chatham Africa/Cairo Africa/Casablanca Asia/Beirut Asia/Jerusalem Asia/Tehran
 Atlantic/Azores""".split()
# Fixed times inside usual gaps, lists, and intervals of every kind.
SHAPES = ["30 2 * * *", "0 3 * * *", "15 0 * * *", "0 0 * * *", "45 1 * * *", "30 23 * * *", "0,20,40 1-3 * * *",
          "5 0-4 * * *", "*/15 * * * *", "0 * * * *", "30 * * * *", "0 */2 * * *", "*/20 1-3 * * *", "10 */3 * * *",
          "* 2 * * *", "30 2 * * SUN", "0 0 1 * *"]
UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1)
MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()
DAYS = "SUN MON TUE WED THU FRI SAT".split()


def ask(program, lines):
    out = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True).stdout
    answers = out.split("\n")[:-1]
    assert len(answers) == len(lines), (len(answers), len(lines))
    return answers


def drawn_value(rng, low, high, names):
    value = rng.randint(low, high)
    if names and rng.random() < 0.5:
        name = names[value - low]
        return name if rng.random() < 0.5 else name.lower()
    return str(value)


def drawn_part(rng, low, high, names):
    kind = rng.random()
    if kind < 0.5:
        return drawn_value(rng, low, high, names)
    first = rng.randint(low, high - 1)
    last = rng.randint(first + 1, high)
    if kind < 0.75:
        return f"{first}-{last}"
    if kind < 0.9:
        return f"{first}-{last}/{rng.randint(1, max(1, (high - low) // 2))}"
    return f"*/{rng.randint(1, max(2, (high - low) // 2))}"


def drawn_field(rng, low, high, star, names=None):
    if rng.random() < star:
        return "*"
    return ",".join(drawn_part(rng, low, high, names) for _ in range(rng.choice([1, 1, 1, 2, 3])))


def drawn_expression(rng):
    if rng.random() < 0.01:
        return rng.choice(["@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"])
    fields = [drawn_field(rng, 0, 59, 0.2), drawn_field(rng, 0, 23, 0.3), drawn_field(rng, 1, 31, 0.5),
              drawn_field(rng, 1, 12, 0.6, MONTHS), drawn_field(rng, 0, 6, 0.5, DAYS)]
    return " ".join(fields)


def seconds(moment):
    return (moment - EPOCH) // datetime.timedelta(seconds=1)


def of_croniter(expression, after, count):
    """The next times as seconds of a clock without a zone; None where croniter gives up."""
    try:
        times = croniter(expression, EPOCH + datetime.timedelta(seconds=after))
        return [seconds(times.get_next(datetime.datetime)) for _ in range(count)]
    except Exception:  # its own errors, and others that leak out of it
        return None


def one_by_one(expression, after, count):
    """The same by looking at every minute of every day, with croniter's reading of the fields alone. Decides where
    croniter's search is known to go wrong: it passes over the first days of a month after a shorter one (days 1,7,31
    on 28 February), and gives up when only one of two restricted days can ever come (31 2 MON)."""
    fields = [set(map(str, field)) for field in croniter.expand(expression)[0]]

    def fits(index, value):
        return "*" in fields[index] or str(value) in fields[index]

    day = (EPOCH + datetime.timedelta(seconds=after)).replace(hour=0, minute=0, second=0)
    found = []
    for _ in range(9 * 366):
        by_day, by_weekday = fits(2, day.day), fits(4, day.isoweekday() % 7)
        either = "*" not in fields[2] and "*" not in fields[4]
        if fits(3, day.month) and (by_day or by_weekday if either else by_day and by_weekday):
            for minute in range(1440):
                at = seconds(day) + minute * 60
                if at > after and fits(1, minute // 60) and fits(0, minute % 60):
                    found.append(at)
                    if len(found) == count:
                        return found
        day += datetime.timedelta(days=1)
    return found


def check_expressions(program, rng):
    asked = [(drawn_expression(rng), rng.randint(1_577_836_800, 2_840_140_800)) for _ in range(EXPRESSIONS)]
    answers = ask(program, [f"slots\tUTC\t{after}\t99999999999\t{SLOTS_EACH}\t{text}" for text, after in asked])
    same = refused = known = wrong = 0
    for (text, after), answer in zip(asked, answers):
        expected = of_croniter(text, after, SLOTS_EACH)
        never = answer.startswith("refused") and "never comes" in answer
        if not never and answer.split() == [str(at) for at in expected or ()]:
            same += 1
            continue
        decided = one_by_one(text, after, SLOTS_EACH)
        if never and not decided:
            refused += 1
        elif not never and answer.split() == [str(at) for at in decided]:
            known += 1
        else:
            wrong += 1
            if wrong <= 20:
                print(f"DIFFERENT {text!r} after {after}:\n  vortex   {answer}\n  croniter {expected}")
    print(f"expressions: {same} same, {refused} never come, {known} where croniter goes wrong in a known way, "
          f"{wrong} different")
    return wrong == 0 and known < EXPRESSIONS // 20


def zone_changes(zone):
    """Instants at which the offset changes, found by bisection between neighbouring hours."""
    def offset(at):
        return datetime.datetime.fromtimestamp(at, zone).utcoffset()

    begin = int(datetime.datetime(YEARS.start, 1, 1, tzinfo=UTC).timestamp())
    end = int(datetime.datetime(YEARS.stop, 1, 1, tzinfo=UTC).timestamp())
    for at in range(begin, end, 3600):
        if offset(at) == offset(at + 3600):
            continue
        low, high = at, at + 3600
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(middle) == offset(low) else (low, middle)
        yield high


def wall(at, zone):
    return datetime.datetime.fromtimestamp(at, zone).replace(tzinfo=None, fold=0)


def expected_slots(expression, zone, change, begin, end):
    """The rules in words, applied to every time on the wall that croniter names."""
    minute, hour = expression.split()[:2]
    interval = minute.startswith("*") or hour.startswith("*")
    before = datetime.datetime.fromtimestamp(change - 1, zone).utcoffset()
    slots = set()
    day = datetime.timedelta(days=2)
    times = croniter(expression, wall(begin, zone) - day)
    while (local := times.get_next(datetime.datetime)) <= wall(end, zone) + day:
        both = {int(local.replace(tzinfo=zone, fold=fold).timestamp()) for fold in (0, 1)}
        real = sorted(at for at in both if wall(at, zone) == local)
        if real:
            slots.update(real if interval else real[:1])
        elif interval:  # as if the clock had gone on
            slots.add(seconds(local - before))
        else:  # right after the gap
            slots.add(change)
    return sorted(at for at in slots if begin < at <= end)


def check_zones(program):
    cases = []
    changes = 0
    for name in ZONES:
        zone = zoneinfo.ZoneInfo(name)
        for change in zone_changes(zone):
            changes += 1
            begin, end = change - 2 * 86_400, change + 2 * 86_400
            cases += [(name, zone, shape, change, begin, end) for shape in SHAPES]
    answers = ask(program, [f"slots\t{c[0]}\t{c[4]}\t{c[5]}\t9999\t{c[2]}" for c in cases])
    wrong = other = 0
    for (name, zone, shape, change, begin, end), answer in zip(cases, answers):
        expected = expected_slots(shape, zone, change, begin, end)
        if answer.split() != [str(at) for at in expected]:
            wrong += 1
            if wrong <= 20:
                print(f"DIFFERENT {shape!r} in {name} around {change}:\n  vortex   {answer}\n  expected "
                      + " ".join(map(str, expected)))
        other += croniter_in_zone(shape, zone, begin, end) != expected
    print(f"zone changes: {changes} in {len(ZONES)} zones, {len(cases)} cases, {wrong} different "
          f"(croniter by itself differs from the rules in {other})")
    return wrong == 0 and changes > 250


def croniter_in_zone(shape, zone, begin, end):
    """For the count alone: what it makes of the same question."""
    try:
        times = croniter(shape, datetime.datetime.fromtimestamp(begin, zone))
        found = []
        while len(found) < 9999 and (at := int(times.get_next(datetime.datetime).timestamp())) <= end:
            found.append(at)
        return found
    except Exception:
        return None


def check_offsets(program, rng):
    names = sorted(zoneinfo.available_timezones())
    known = set(ask(program, ["zones"])[0].split())
    # Files beside the zones, and names that only Python makes.
    names = [name for name in names if name in known]
    asked = [[rng.randint(-1_000_000_000, 4_070_000_000) for _ in range(60)] for _ in names]
    answers = ask(program, [f"offsets\t{name}\t{' '.join(map(str, ats))}" for name, ats in zip(names, asked)])
    wrong = compared = 0
    for name, ats, answer in zip(names, asked, answers):
        zone = zoneinfo.ZoneInfo(name)
        for at, offset in zip(ats, answer.split()):
            moment = EPOCH.replace(tzinfo=UTC) + datetime.timedelta(seconds=at)
            expected = moment.astimezone(zone).utcoffset() // datetime.timedelta(seconds=1)
            compared += 1
            if int(offset) != expected:
                wrong += 1
                if wrong <= 20:
                    print(f"DIFFERENT offset of {name} at {at}: vortex {offset}, zoneinfo {expected}")
    print(f"offsets: {compared} in {len(names)} zones, {wrong} different")
    return wrong == 0 and len(names) > 400


def main():
    program = sys.argv[1]
    rng = random.Random(20260301)
    fine = [check_expressions(program, rng), check_zones(program), check_offsets(program, rng)]
    sys.exit(0 if all(fine) else 1)


main()
