"""The style sheet of report.html: light and dark, from a phone to a wide screen."""

from typing import Final

CSS: Final = """
:root { color-scheme: light dark;
  --bg: #f6f7f9; --card: #ffffff; --ink: #1b1f27; --quiet: #626b7a; --rule: #dfe3e9;
  --good: #0b7a55; --bad: #b3401b; --open: #5b6472; --code: #eef1f5;
  --c1: #0072b2; --c2: #d55e00; --c3: #009e73; --c4: #aa4499;
  --c5: #e69f00; --c6: #56b4e9; --c7: #882255; --c8: #8a8f98; }
@media (prefers-color-scheme: dark) { :root {
  --bg: #12151a; --card: #1b1f27; --ink: #e8ebf0; --quiet: #9aa4b2; --rule: #303744;
  --good: #38c793; --bad: #f08a5d; --open: #9aa4b2; --code: #252b35;
  --c1: #56b4e9; --c2: #f0905a; --c3: #2fc99a; --c4: #d98bc8;
  --c5: #e6b84d; --c6: #8fcbf2; --c7: #d0708f; --c8: #a3a9b3; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--ink); -webkit-text-size-adjust: 100%;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 24px 16px 48px; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0; letter-spacing: -0.01em; }
h2 { font-size: 1.15rem; margin: 0 0 12px; }
h3 { font-size: 0.95rem; margin: 0; font-weight: 600; }
p { margin: 8px 0; } a { color: var(--c1); }
.quiet { color: var(--quiet); } .small { font-size: 0.85rem; }
header { margin-bottom: 20px; }
.headline { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 14px; }
.badge { font-weight: 700; font-size: 0.85rem; letter-spacing: 0.04em; padding: 3px 12px;
  border-radius: 99px; color: var(--card); background: var(--open); }
.badge.good { background: var(--good); } .badge.bad { background: var(--bad); }
section { background: var(--card); border: 1px solid var(--rule); border-radius: 12px;
  padding: 18px 20px; margin: 0 0 16px; }
.tiles { display: grid; gap: 10px; margin-top: 16px;
  grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); }
.tile { background: var(--card); border: 1px solid var(--rule); border-radius: 12px;
  padding: 12px 14px; min-width: 0; }
.tile .label { color: var(--quiet); font-size: 0.8rem; }
.tile .value { overflow-wrap: anywhere; font-size: 1.5rem; font-weight: 650; line-height: 1.25;
  font-variant-numeric: tabular-nums; }
.tile .detail { color: var(--quiet); font-size: 0.8rem; overflow-wrap: anywhere; }
.columns { display: grid; gap: 16px; grid-template-columns: repeat(auto-fit, minmax(320px, 1fr)); }
.columns > section { margin: 0; } .columns { margin-bottom: 16px; }
.plots { display: grid; gap: 20px 24px;
  grid-template-columns: repeat(auto-fill, minmax(290px, 1fr)); }
figure { margin: 0; min-width: 0; break-inside: avoid; display: flex; flex-direction: column; }
figcaption { display: flex; justify-content: space-between; gap: 12px; align-items: baseline;
  margin-bottom: 2px; font-size: 0.9rem; }
figcaption .now { font-variant-numeric: tabular-nums; font-weight: 600; white-space: nowrap; }
.meaning { color: var(--quiet); font-size: 0.8rem; margin: 0 0 4px; flex: 1; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
video { display: block; width: 100%; border-radius: 8px; background: #000; max-height: 460px;
  border: 1px solid var(--rule); }
.narrow { display: none; }
@media (max-width: 640px) { .wide { display: none; } .narrow { display: block; }
  main { padding: 16px 10px 32px; } section { padding: 14px 12px; } h1 { font-size: 1.4rem; } }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 0 0 8px; padding: 0;
  list-style: none; font-size: 0.85rem; color: var(--quiet); }
.legend i { display: inline-block; width: 14px; height: 4px; border-radius: 2px;
  margin-right: 6px; vertical-align: middle; background: var(--quiet); }
.legend i.block { height: 10px; width: 10px; } .legend i.dash { background: none;
  border-top: 2px dashed var(--c3); height: 0; border-radius: 0; }
.legend i.gem { width: 9px; height: 9px; border-radius: 0; transform: rotate(45deg); }
.tick { font-size: 11.5px; fill: var(--quiet); font-variant-numeric: tabular-nums; }
.note { font-size: 11.5px; fill: var(--quiet); paint-order: stroke; stroke: var(--card);
  stroke-width: 4px; } .end { text-anchor: end; }
.middle { text-anchor: middle; }
.grid { stroke: var(--rule); stroke-width: 1; } .axis { stroke: var(--quiet); stroke-width: 1; }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; }
.trail { stroke-width: 1.2; opacity: 0.6; } .band { opacity: 0.22; stroke: none; }
.area { opacity: 0.85; } .whisker { opacity: 0.55; fill: none; }
.box { opacity: 0.35; fill: none; }
.dot { stroke: var(--card); stroke-width: 1.2; } .dot.soft { opacity: 0.75; }
.level { stroke: var(--c3); stroke-width: 1.6; stroke-dasharray: 6 4; fill: none; }
.mean { stroke: var(--c4); stroke-width: 1.6; fill: none; }
.mark { stroke-width: 1.2; stroke-dasharray: 4 3; fill: none; pointer-events: none; }
.mark.change { stroke: var(--c7); } .flag.change { fill: var(--c7); color: var(--c7); }
.mark.resume { stroke: var(--quiet); } .flag.resume { fill: var(--quiet); color: var(--quiet); }
.mark.fault { stroke: var(--bad); } .flag.fault { fill: var(--bad); color: var(--bad); }
.legend i.flag { width: 0; height: 0; background: none; border-radius: 0;
  border: 5px solid transparent; border-top: 9px solid currentColor; border-bottom: 0; }
.broken { stroke: var(--bad); stroke-width: 1.5; opacity: 0.7; fill: none; }
.hover { fill: transparent; } .hover:hover { fill: var(--quiet); opacity: 0.12; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.88rem; }
th { text-align: left; font-weight: 600; color: var(--quiet); white-space: nowrap; }
th, td { padding: 5px 12px 5px 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
tr:last-child td { border-bottom: 0; }
.num { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.key { white-space: nowrap; } td.any { overflow-wrap: break-word; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 18px; margin: 0;
  font-size: 0.9rem; } dt { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; }
code, pre { font: 0.86em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { background: var(--code); border-radius: 8px; padding: 10px 12px; margin: 8px 0;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.alert { border-left: 4px solid var(--c5); padding: 2px 0 2px 14px; margin: 0 0 14px; }
.alert.critical { border-color: var(--bad); } .alert.info { border-color: var(--c6); }
.alert:last-child { margin-bottom: 0; } .alert p { margin: 2px 0; }
details { margin: 12px 0 0; } summary { cursor: pointer; font-weight: 600; font-size: 0.92rem; }
details > :not(summary) { margin-top: 10px; }
.c1 { stroke: var(--c1); } .c2 { stroke: var(--c2); } .c3 { stroke: var(--c3); }
.c4 { stroke: var(--c4); } .c5 { stroke: var(--c5); } .c6 { stroke: var(--c6); }
.c7 { stroke: var(--c7); } .c8 { stroke: var(--c8); }
i.c1, .legend .c1 { background: var(--c1); } i.c2 { background: var(--c2); }
i.c3 { background: var(--c3); } i.c4 { background: var(--c4); } i.c5 { background: var(--c5); }
i.c6 { background: var(--c6); } i.c7 { background: var(--c7); } i.c8 { background: var(--c8); }
.band.c1, .dot.c1, .area.c1, circle.c1 { fill: var(--c1); }
.band.c2, .dot.c2, .area.c2, circle.c2 { fill: var(--c2); }
.band.c4, .dot.c4, .area.c4, circle.c4 { fill: var(--c4); }
.area.c3 { fill: var(--c3); } .area.c5 { fill: var(--c5); } .area.c6 { fill: var(--c6); }
.area.c7 { fill: var(--c7); } .area.c8 { fill: var(--c8); }
.dot, .area, .band { stroke: none; } .dot { stroke: var(--card); stroke-width: 1.2; }
footer { color: var(--quiet); font-size: 0.8rem; margin-top: 20px; }
@media print { body { background: #fff; }
  section { break-inside: avoid; } .hover { display: none; } }
"""
