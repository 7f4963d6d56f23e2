import { pictureStyle } from '../../../../ui/views/picture-style.ts'

/** Contains the style of the whole page, including the colours of its pictures. */
export const pageStyle = `${pictureStyle}
* { box-sizing: border-box }
html { color-scheme: light dark }
body { margin: 0; background: var(--paper); color: var(--ink); font: 14px/1.45 ui-sans-serif, system-ui, sans-serif }
header { padding: 12px 16px; border-bottom: 1px solid var(--line); background: var(--raised) }
main { padding: 4px 16px 40px; max-width: 1400px }
h1 { font-size: 19px; margin: 0 }
h2 { font-size: 16px; margin: 22px 0 8px; overflow-wrap: anywhere }
h3 { font-size: 14px; margin: 14px 0 4px; overflow-wrap: anywhere }
header p { margin: 2px 0 0 }
a { color: var(--accent) }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px }
.beside { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 0 28px }
.scroll { position: relative; overflow-x: auto; max-width: 100% }
table { border-collapse: collapse }
th, td { text-align: left; padding: 5px 12px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top }
thead th { color: var(--soft); font-weight: 600; max-width: 180px; overflow-wrap: anywhere }
tbody th { font-weight: 600 }
td { font-variant-numeric: tabular-nums; white-space: nowrap }
td a { display: block; text-decoration: none }
td a:hover { text-decoration: underline }
tbody th .soft { font-weight: 400; display: block }
.mark { font-weight: 700; display: inline-block; width: 1.3em; text-align: center; margin-right: 5px;
  border-radius: 4px; border: 1px solid currentColor }
.well { color: var(--ok) }
.note, .doubt { color: var(--grace) }
.bad { color: var(--lost) }
.words { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
:root { --ok: #07664d }
@media (prefers-color-scheme: dark) { :root { --ok: #3fc79e } }
ul.plain, ol.plain { list-style: none; margin: 0; padding: 0 }
ul.plain li { margin: 0 0 8px; overflow-wrap: anywhere }
li { overflow-wrap: anywhere }
.remedy { border-left: 4px solid var(--accent); padding: 4px 10px; margin: 2px 0; background: var(--raised);
  overflow-wrap: anywhere }
.verdict { font-size: 17px; font-weight: 650; margin: 4px 0; overflow-wrap: anywhere }
.facts { display: flex; flex-wrap: wrap; gap: 4px 20px; color: var(--soft) }
section { min-width: 0 }
.facts span { max-width: 100%; overflow-wrap: anywhere }
p, .soft { overflow-wrap: anywhere }
.facts b { color: var(--ink); overflow-wrap: anywhere }
.soft { color: var(--soft) }
pre { background: var(--raised); padding: 8px; border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere;
  margin: 4px 0 }
svg.ks.death { max-width: none }
svg.ks.used { display: inline-block; vertical-align: 1px; margin-right: 6px }
svg.ks .track { fill: var(--line) }
.panel { display: none; border: 1px solid var(--line); border-radius: 6px; padding: 0 14px 12px; margin: 14px 0;
  scroll-margin-top: 8px }
.panel:target { display: block }
:root:not(:has(.panel:target)) .panel.first { display: block }
bdi { unicode-bidi: isolate }
@media (max-width: 640px) {
  main { padding: 0 10px 32px }
  .panel { padding: 0 8px 8px }
  th, td { padding-right: 8px }
  tbody th .soft { display: none }
}
@media print { .panel { display: block; break-inside: avoid } }
`
