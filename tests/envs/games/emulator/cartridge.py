"""A cartridge of our own for the NES, which keeps its numbers where Super Mario Bros. keeps them.

The game itself cannot be brought along; this one is enough to press every button and to see what
becomes of it on a real emulator. START begins. Then RIGHT scrolls by 2 pixels a frame, LEFT makes
the colour of the screen follow the scroll, pressing UP finishes a level, DOWN costs a life, A pays
a point, and the clock ticks every 24 frames. SELECT stops everything for good.
"""

import re
from pathlib import Path

FOLDER = "SuperMarioBros-Nes-v0"

PROGRAM = """
reset:  78 D8 A2 FF 9A            ; no interrupts, no decimals, a stack
        A2 00 8A 85 00 85 01 85 02 85 03
wipe:   9D 00 07 E8 D0 <wipe      ; every number is 0
        20 @frame 20 @frame       ; the picture unit needs two frames
        A9 02 8D 5A 07            ; lives = 2
title:  20 @frame A5 00 29 10     ; START?
        F0 <title
        A9 07 8D A0 07            ; how long the number of lives is shown
lives:  20 @frame AD A0 07
        F0 <begin
        CE A0 07 4C @lives
begin:  A9 04 8D F8 07 A9 00 8D F9 07 8D FA 07    ; clock = 400
loop:   20 @frame
        A5 00 29 20 F0 <clock     ; SELECT?
stop:   4C @stop
clock:  E6 01 A5 01 C9 18 D0 <right   ; 24 frames a tick
        A9 00 85 01
        CE FA 07 10 <right A9 09 8D FA 07
        CE F9 07 10 <right A9 09 8D F9 07 CE F8 07
right:  A5 00 29 01 F0 <left
        18 AD 1C 07 69 02 8D 1C 07 AD 1A 07 69 00 8D 1A 07
left:   A5 00 29 02 F0 <up
        A9 3F 8D 06 20 A9 00 8D 06 20         ; the background's colour
        AD 1C 07 29 3F 8D 07 20
        A9 00 8D 06 20 8D 06 20
up:     A5 02 29 08 F0 <down
        EE 5C 07 A9 00 8D 1C 07 8D 1A 07      ; next level, scroll = 0
down:   A5 02 29 04 F0 <score
        CE 5A 07 A9 00 8D 1C 07 8D 1A 07      ; a life, scroll = 0
score:  A5 02 29 80 F0 <again
        EE E2 07
again:  4C @loop
frame:  2C 02 20 10 <frame        ; wait for the picture's end
        A5 00 85 03               ; what was pressed before
        A9 01 8D 16 40 A9 00 8D 16 40 A2 08
pad:    AD 16 40 4A 26 00 CA D0 <pad
        A5 03 49 FF 25 00 85 02   ; what is pressed newly
        60
"""
ORIGIN, SIZE = 0xC000, 0x4000


def assemble(text: str) -> bytes:
    """Hexadecimal bytes with labels: `@label` is an address, `<label` a short jump's distance."""
    lines = [line.split(";")[0] for line in text.strip().splitlines()]
    words = " ".join(lines).split()
    labels, place = {}, ORIGIN
    for word in words:
        if word.endswith(":"):
            labels[word[:-1]] = place
        else:
            place += 2 if word.startswith("@") else 1
    code = bytearray()
    for word in words:
        if word.endswith(":"):
            continue
        if word.startswith("@"):
            code += labels[word[1:]].to_bytes(2, "little")
        elif word.startswith("<"):
            code += (labels[word[1:]] - (ORIGIN + len(code) + 1)).to_bytes(1, "little", signed=True)
        else:
            assert re.fullmatch("[0-9A-F]{2}", word), word
            code.append(int(word, 16))
    return bytes(code)


def rom(program: str = PROGRAM) -> bytes:
    """16 KiB of program, 8 KiB of empty pictures, as emulators want them."""
    code = assemble(program).ljust(SIZE - 6, b"\xff")
    vectors = ORIGIN.to_bytes(2, "little") * 3
    return b"NES\x1a\x01\x01" + bytes(10) + code + vectors + bytes(0x2000)


def write(shelf: Path) -> Path:
    """The game as a folder of the user's own; everything but the ROM is stable-retro's."""
    folder = shelf / FOLDER
    folder.mkdir(parents=True)
    (folder / "rom.nes").write_bytes(rom())
    return shelf
