"""The format explorer: the bits of a number, its fields, its value, its neighbours on a line.

In a notebook with a kernel the bits are buttons and the format is a list; elsewhere the picture
stands still.  Colours are those of the palette; every field is named as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from ..numerics import FORMATS, Format, code_at, decode, encode, format_of, numbers, rank_of
from .palette import INK, QUIET, TINTS

VIEW = "application/vnd.jupyter.widget-view+json"
ASLEEP = "(Run this cell for buttons: one for each bit.)"
FIELDS = (("sign", TINTS[3]), ("exponent", TINTS[0]), ("mantissa", TINTS[2]))
MARK = "#d55e00"
AROUND = 5  # neighbours drawn on each side
WIDTH, LEFT = 640, 20


@dataclass(frozen=True)
class FormatPicture:
    """One code of one format; the last line of a cell shows it."""

    fmt: Format
    code: int

    @property
    def value(self) -> float:
        """What the bits say."""
        return float(decode(self.code, self.fmt))

    @property
    def kind(self) -> str:
        """normal, subnormal, zero, infinity or NaN."""
        if not np.isfinite(self.value):
            return "NaN" if np.isnan(self.value) else "infinity"
        if self.value == 0:
            return "zero"
        return "normal" if abs(self.value) >= self.fmt.min_normal else "subnormal"

    @property
    def formula(self) -> str:
        """The value from its fields, as arithmetic."""
        fmt = self.fmt
        sign, exponent, mantissa = fmt.split(self.code)
        if self.kind in ("NaN", "infinity"):
            return f"{self.kind}: this pattern of bits is reserved"
        first = 0 if self.kind in ("subnormal", "zero") else 1
        digits = f".{mantissa:0{fmt.mantissa_bits}b}" if fmt.mantissa_bits else ""
        power = f"({exponent} - {fmt.bias})" if first else f"(1 - {fmt.bias})"
        minus = "-" if sign else ""
        return f"{minus}{first}{digits} (binary) x 2^{power} = {self.value:.9g}, {self.kind}"

    def around(self) -> list[tuple[int, float]]:
        """(code, value) of the number and its nearest neighbours on the line, in order."""
        if not np.isfinite(self.value):
            return []
        rank = int(rank_of(self.code, self.fmt))
        least = -self.fmt.max_code if self.fmt.sign_bits else 0
        ranks = range(max(rank - AROUND, least), min(rank + AROUND, self.fmt.max_code) + 1)
        codes = [int(code_at(one, self.fmt)) for one in ranks]
        return [(code, float(decode(code, self.fmt))) for code in codes]

    def __str__(self) -> str:
        fmt = self.fmt
        lines = [f"{fmt.name}  {fmt.text(self.code)}  (code {self.code:#x})", f"  {self.formula}"]
        near = self.around()
        if near:
            marked = (f"[{value:.6g}]" if value == self.value else f"{value:.6g}"
                      for _, value in near)  # fmt: skip
            lines.append("  on the line: " + "  ".join(marked))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def svg(self) -> str:
        """Boxes for the bits, all numbers of a small format on a line, and the neighbours."""
        parts = [*self._boxes()]
        y = 92
        if self.fmt.bits <= 8 and self.fmt.sign_bits:
            parts += self._line(y, f"all numbers of {self.fmt.name}", list(numbers(self.fmt)), 5)
            y += 58
        near = [value for _, value in self.around()]
        if len(near) > 1:
            parts += self._line(y, "the nearest neighbours", near, len(near))
            y += 58
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y - 20}" '
            f'width="{WIDTH}" role="img" aria-label="{escape(str(self))}" '
            f'style="max-width: 100%; font-family: sans-serif;">{"".join(parts)}</svg>'
        )

    def _boxes(self) -> list[str]:
        fmt = self.fmt
        sizes = (fmt.sign_bits, fmt.exponent_bits, fmt.mantissa_bits)
        step = min(32, (WIDTH - 2 * LEFT - 24) // fmt.bits)
        x, parts, bit = float(LEFT), [], fmt.bits
        for (field, tint), size in zip(FIELDS, sizes):
            if not size:
                continue
            parts.append(_text(x, 14, field if size > 1 else field[:4], "start"))
            for _ in range(size):
                bit -= 1
                parts.append(f'<rect x="{x}" y="20" width="{step - 2}" height="26" fill="{tint}" '
                             f'stroke="{QUIET}"/>')  # fmt: skip
                parts.append(_text(x + step / 2 - 1, 38, str(self.code >> bit & 1), fill=INK))
                x += step
            x += 24 if size == 1 else 12
        parts.append(_text(LEFT, 66, self.formula, "start"))
        return parts

    def _line(self, y: int, title: str, values: list[float], labels: int) -> list[str]:
        low, high = values[0], values[-1]
        span = (WIDTH - 4 * LEFT) / (high - low)

        def at(value: float) -> float:
            return round(2 * LEFT + (value - low) * span, 1)

        parts = [_text(LEFT, y, title, "start", QUIET),
                 f'<line x1="{at(low)}" x2="{at(high)}" y1="{y + 14}" y2="{y + 14}" '
                 f'stroke="{QUIET}"/>']  # fmt: skip
        parts += [f'<line x1="{at(v)}" x2="{at(v)}" y1="{y + 8}" y2="{y + 20}" stroke="{QUIET}"/>'
                  for v in values]  # fmt: skip
        named = values if labels == len(values) else list(np.linspace(low, high, labels))
        free = -np.inf  # text does not overlap: about 7 units a character
        for value in named:
            said = f"{value:.6g}"
            if at(value) - 3.5 * len(said) > free:
                parts.append(_text(at(value), y + 33, said, size=11))
                free = at(value) + 3.5 * len(said)
        if low <= self.value <= high:
            here = at(self.value)
            parts.append(f'<path d="M{here} {y + 12} l-5 -9 h10 z" fill="{MARK}"/>')
        return parts

    def html(self) -> str:
        """The picture below the name of the format and the code."""
        return (
            f"<div><b>{escape(self.fmt.name)}</b>, code {self.code:#x}: "
            f"{escape(f'{self.value:.9g}')}</div>{self.svg()}"
        )

    def bundle(self) -> dict[str, Any]:
        """Text and HTML of the picture."""
        return {"text/plain": str(self), "text/html": self.html()}

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return self.bundle()

    def flipped(self, bit: int) -> FormatPicture:
        """The picture with one bit turned; bit 0 is the last."""
        return FormatPicture(self.fmt, self.code ^ 1 << bit)

    def buttons(self, changed: Any) -> Any:
        """A list of formats and a button for each bit; `changed` gets the new picture.

        Another format shows the nearest number that it has.  None without ipywidgets.
        """
        try:
            import ipywidgets as w
        except ImportError:
            return None
        now = self
        row = w.HBox()
        names = w.Dropdown(options=[name for name in FORMATS if FORMATS[name].bits <= 19],
                           value=self.fmt.name, description="format")  # fmt: skip

        def pressed(bit: int, button: Any) -> None:
            nonlocal now
            now = now.flipped(bit)
            button.description = str(now.code >> bit & 1)
            changed(now)

        def fill() -> None:
            row.children = [_button(w, now, bit, pressed) for bit in reversed(range(now.fmt.bits))]

        def chosen(change: Any) -> None:
            nonlocal now
            now = nearest(format_of(change.new), now.value)
            fill()
            changed(now)

        names.observe(chosen, "value")
        fill()
        return w.VBox([names, row])

    def _ipython_display_(self) -> None:
        """The buttons, and below them the picture as an output of its own."""
        from IPython.display import display

        handle: Any = None
        box = self.buttons(lambda now: handle.update(now.bundle(), raw=True))
        if box is not None:
            view = box._repr_mimebundle_()[VIEW]
            display({"text/plain": ASLEEP, VIEW: view}, raw=True)  # type: ignore[no-untyped-call]
        handle = display(self.bundle(), raw=True, display_id=True)  # type: ignore[no-untyped-call]


def nearest(fmt: Format, value: float) -> FormatPicture:
    """The picture of the number of `fmt` nearest to a value; of its smallest where it has none."""
    fits = np.isfinite(value) and (value > 0 or fmt.special != "scale")
    return FormatPicture(fmt, int(encode(value, fmt, saturate=True)) if fits else 0)


def show_format(fmt: Format | str = "e4m3", value: float | None = None, *,
                code: int | None = None) -> FormatPicture:  # fmt: skip
    """The explorer for a format, starting at a value, rounded to it, or at a code; else at 1.

    FormatError: no such format, or no such code.
    """
    fmt = format_of(fmt)
    if code is None:
        return FormatPicture(fmt, int(encode(1.0 if value is None else value, fmt)))
    decode(code, fmt)  # refuses a code with too many bits
    return FormatPicture(fmt, code)


def _button(w: Any, now: FormatPicture, bit: int, pressed: Any) -> Any:
    fmt = now.fmt
    field = 0 if fmt.sign_bits and bit == fmt.bits - 1 else 1 if bit >= fmt.mantissa_bits else 2
    name, tint = FIELDS[field]
    button = w.Button(description=str(now.code >> bit & 1), tooltip=f"{name}, bit {bit}",
                      layout=w.Layout(width="32px", padding="0"),
                      style={"button_color": tint, "text_color": INK})  # fmt: skip
    button.on_click(lambda button: pressed(bit, button))
    return button


def _text(x: float, y: float, text: str, anchor: str = "middle", fill: str = "currentColor",
          size: int = 13) -> str:  # fmt: skip
    return (f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}" fill="{fill}">'
            f"{escape(text)}</text>")  # fmt: skip
