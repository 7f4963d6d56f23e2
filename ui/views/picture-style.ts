/**
 * Colours that the colour-blind tell apart (after Okabe and Ito), for light and dark; each phase also has a pattern, a
 * height or a word. Of pictures, in the page and without it.
 */
export const pictureStyle = `
:root, svg.ks { --paper:#fff; --ink:#1b2530; --soft:#55606c; --line:#d4dae1; --raised:#f4f6f8; --accent:#0b5cad;
  --pending:#c9d1d9; --running:#7cc4ee; --ready:#0a8f6a; --terminating:#efb43c; --succeeded:#9aa5b1;
  --failed:#b3401f; --backoff:#e58a76; --hook:#2f6fb5; --wait:#b8a7cf; --term:#e07b00; --kill:#a8201a; --grace:#7a5200;
  --lost:#b3261e; --answered:#7fb8a4; --hot:#8a1c7c }
@media (prefers-color-scheme: dark) { :root, svg.ks { --paper:#10161d; --ink:#e8edf2; --soft:#a6b1bd;
  --line:#33404d; --raised:#1a232d; --accent:#7cb8ff; --pending:#4a5663; --running:#3b8fc4; --ready:#27b58b;
  --terminating:#c98d12; --succeeded:#6d7985; --failed:#e0714f; --backoff:#a8452f; --hook:#5c9ce0;
  --wait:#8d77ad; --term:#f09a37;
  --kill:#f0685f; --grace:#f0c66b; --lost:#ff7a70; --answered:#3c7f69; --hot:#e58ad9 } }
svg.ks { font: 12px/1.3 ui-sans-serif, system-ui, sans-serif; display: block; background: var(--paper) }
svg.ks text { fill: var(--ink) }
svg.ks .soft { fill: var(--soft); font-size: 11px }
svg.ks .strong { font-weight: 650 }
svg.ks .code { font-family: ui-monospace, monospace; font-size: 11px }
svg.ks .grid { stroke: var(--line); stroke-width: 1 }
svg.ks .group { fill: var(--raised) }
svg.ks .Pending { fill: var(--pending) }
svg.ks .Running { fill: var(--running) }
svg.ks .Ready { fill: var(--ready) }
svg.ks .Terminating { fill: var(--terminating) }
svg.ks .Succeeded { fill: var(--succeeded) }
svg.ks .BackOff { fill: var(--backoff) }
svg.ks .Failed, svg.ks .NotReady { fill: var(--failed) }
svg.ks .Lost { fill: var(--kill) }
svg.ks .hook { fill: var(--hook) }
svg.ks .wait { fill: var(--wait) }
svg.ks .term { fill: var(--term) }
svg.ks .kill { fill: var(--kill) }
svg.ks .pressure { fill: var(--term) }
svg.ks .taint { fill: var(--wait) }
svg.ks .grace { fill: none; stroke: var(--grace); stroke-dasharray: 4 3 }
svg.ks .answered { fill: var(--answered) }
svg.ks .lost { fill: var(--lost) }
svg.ks .mark { fill: var(--ink); stroke: var(--paper); stroke-width: 1 }
svg.ks .alarm { fill: var(--lost) }
svg.ks .band { fill: var(--kill); opacity: .12 }
svg.ks .band-name { fill: var(--lost); font-size: 11px; font-weight: 650; paint-order: stroke; stroke: var(--paper);
  stroke-width: 3px }
svg.ks .chip rect { fill: var(--paper); stroke: var(--line) }
svg.ks .chip text { fill: var(--soft); font-size: 10.5px }
svg.ks .chip.bad rect { stroke: var(--lost) }
svg.ks .chip.bad text { fill: var(--lost); font-weight: 650 }
svg.ks .over { pointer-events: none }
svg.ks text.letter { fill: var(--paper); font-size: 9px; font-weight: 700 }
svg.ks .moment { stroke: var(--lost); stroke-width: 1.5; stroke-dasharray: 2 2 }
svg.ks .heat { fill: var(--hot) }
svg.ks .series { fill: none; stroke-width: 2 }
svg.ks .new { stroke: var(--ready) }
svg.ks .old { stroke: var(--term); stroke-dasharray: 6 3 }
svg.ks .total { stroke: var(--soft); stroke-dasharray: 2 3; stroke-width: 1.5 }
svg.ks .selected { fill: var(--accent); opacity: .14 }
`
