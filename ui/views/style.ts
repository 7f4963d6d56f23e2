/**
 * Colours that the colour-blind tell apart (after Okabe and Ito), for light and dark; each phase also has a pattern, a
 * height or a word. Used by pictures and by the page.
 */
export const pictureStyle = `
:root, svg.ks { --paper:#fff; --ink:#1b2530; --soft:#55606c; --line:#d4dae1; --raised:#f4f6f8; --accent:#0b5cad;
  --pending:#c9d1d9; --running:#7cc4ee; --ready:#0a8f6a; --terminating:#efb43c; --succeeded:#9aa5b1; --failed:#b3401f;
  --hook:#2f6fb5; --wait:#b8a7cf; --term:#e07b00; --kill:#a8201a; --grace:#7a5200; --lost:#b3261e; --answered:#7fb8a4; --hot:#8a1c7c }
@media (prefers-color-scheme: dark) { :root, svg.ks { --paper:#10161d; --ink:#e8edf2; --soft:#a6b1bd; --line:#33404d;
  --raised:#1a232d; --accent:#7cb8ff; --pending:#4a5663; --running:#3b8fc4; --ready:#27b58b; --terminating:#c98d12;
  --succeeded:#6d7985; --failed:#e0714f; --hook:#5c9ce0; --wait:#8d77ad; --term:#f09a37; --kill:#f0685f; --grace:#f0c66b;
  --lost:#ff7a70; --answered:#3c7f69; --hot:#e58ad9 } }
svg.ks { font: 12px/1.3 ui-sans-serif, system-ui, sans-serif; display: block; background: var(--paper) }
svg.ks text { fill: var(--ink) } svg.ks .soft { fill: var(--soft); font-size: 11px } svg.ks .strong { font-weight: 650 }
svg.ks .code { font-family: ui-monospace, monospace; font-size: 11px }
svg.ks .grid { stroke: var(--line); stroke-width: 1 } svg.ks .group { fill: var(--raised) }
svg.ks .Pending { fill: var(--pending) } svg.ks .Running { fill: var(--running) } svg.ks .Ready { fill: var(--ready) }
svg.ks .Terminating { fill: var(--terminating) } svg.ks .Succeeded { fill: var(--succeeded) }
svg.ks .Failed, svg.ks .NotReady { fill: var(--failed) } svg.ks .Lost { fill: var(--kill) }
svg.ks .hook { fill: var(--hook) } svg.ks .wait { fill: var(--wait) } svg.ks .term { fill: var(--term) }
svg.ks .kill { fill: var(--kill) } svg.ks .pressure { fill: var(--term) } svg.ks .taint { fill: var(--wait) }
svg.ks .grace { fill: none; stroke: var(--grace); stroke-dasharray: 4 3 } svg.ks .answered { fill: var(--answered) }
svg.ks .lost { fill: var(--lost) } svg.ks .mark { fill: var(--ink); stroke: var(--paper); stroke-width: 1 }
svg.ks text.letter { fill: var(--paper); font-size: 9px; font-weight: 700 } svg.ks .moment { stroke: var(--lost); stroke-width: 1.5; stroke-dasharray: 2 2 } svg.ks .heat { fill: var(--hot) }
svg.ks .series { fill: none; stroke-width: 2 } svg.ks .new { stroke: var(--ready) } svg.ks .old { stroke: var(--term); stroke-dasharray: 6 3 }
svg.ks .total { stroke: var(--soft); stroke-dasharray: 2 3; stroke-width: 1.5 } svg.ks .selected { fill: var(--accent); opacity: .14 }
`
/** Of the page around them. */
export const pageStyle = `
* { box-sizing: border-box } html { color-scheme: light dark } [hidden] { display: none !important }
body { margin: 0; background: var(--paper); color: var(--ink); font: 14px/1.45 ui-sans-serif, system-ui, sans-serif }
header { padding: 12px 16px 0; border-bottom: 1px solid var(--line); background: var(--raised) }
h1 { font-size: 17px; margin: 0; overflow-wrap: anywhere } h2 { font-size: 15px; margin: 20px 0 8px } h3 { font-size: 14px; margin: 14px 0 4px }
.state { color: var(--soft); margin: 2px 0 8px; overflow-wrap: anywhere } .state.bad { color: var(--lost); font-weight: 600 }
main { padding: 12px 16px 40px; max-width: 1800px } nav { display: flex; flex-wrap: wrap; gap: 2px }
[role=tab] { border: 0; background: none; padding: 8px 11px; border-bottom: 3px solid transparent; color: var(--soft); font: inherit; cursor: pointer }
[role=tab][aria-selected=true] { color: var(--ink); border-color: var(--accent); font-weight: 650 }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px }
.bar { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; margin-bottom: 10px } .bar input[type=search] { flex: 1 1 180px; min-width: 0 }
button, input, select { font: inherit; color: var(--ink); background: var(--paper); border: 1px solid var(--soft); border-radius: 6px; padding: 4px 9px; max-width: 100% }
button { cursor: pointer } button[aria-pressed=true] { background: var(--accent); color: var(--paper); border-color: var(--accent) }
button.link { border: 0; padding: 0; background: none; color: var(--accent); text-align: left; text-decoration: underline; overflow-wrap: anywhere }
.chart { position: relative; max-height: 62vh; overflow-y: auto; overflow-x: hidden; border: 1px solid var(--line); border-radius: 6px; touch-action: pan-y; cursor: grab }
.chart canvas { position: sticky; top: 0; display: block } .scroll { overflow-x: auto; max-width: 100% }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 0 28px }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: 4px 10px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere }
th { color: var(--soft); font-weight: 600; white-space: nowrap } td.num { font-variant-numeric: tabular-nums; white-space: nowrap }
ul.plain, ol.plain { list-style: none; margin: 0; padding: 0 } .legend { display: flex; flex-wrap: wrap; gap: 4px 14px; margin: 8px 0; color: var(--soft) }
.legend span { display: inline-flex; align-items: center; gap: 5px } pre { background: var(--raised); padding: 8px; border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere; margin: 4px 0; max-height: 60vh; overflow: auto }
.verdict { font-size: 18px; font-weight: 650; margin: 4px 0; overflow-wrap: anywhere } .remedy { border-left: 4px solid var(--accent); padding: 4px 10px; background: var(--raised) }
.facts { display: flex; flex-wrap: wrap; gap: 4px 20px; color: var(--soft) } .facts b { color: var(--ink) } .soft { color: var(--soft) } .hot { color: var(--hot); font-weight: 650 }
.lost-words { color: var(--lost); font-weight: 650 } bdi { unicode-bidi: isolate } svg.ks .row { cursor: pointer }
@media (prefers-reduced-motion: no-preference) { [role=tab] { transition: border-color .12s } }
`
