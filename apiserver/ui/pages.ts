import { createHash } from 'node:crypto'
import { uiAssets } from './assets.ts'

/** A page may load its icon, and nothing else. */
export const nothing = "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'"

/** The script replaces it. */
const loading = 'Loading … If nothing follows, load the page again.'

const headWith = (more = ''): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">${more}
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Kubestage</title>
<link rel="icon" href="data:,">
`

/**
 * Returns the page as one file, and its Content-Security-Policy: a browser that has the page needs no second request
 * for its script, which could fail and leave the page empty. `lines` are those of a record; without them the page reads
 * a stream. No text of a record can become markup or a script.
 */
export async function wholePage(lines?: readonly string[]): Promise<{ html: string; policy: string }> {
  const assets = await uiAssets()
  // In both, `</script` and `<!--` stand in texts alone.
  const script = assets.script.replace(/<(?=\/script|!--)/gi, '\\x3c')
  const policy = `${nothing}; script-src '${hashOf(script)}'; style-src '${hashOf(assets.style)}'`
  const meta = lines && `\n<meta http-equiv="Content-Security-Policy" content="${policy}">`
  const html = `${headWith(meta)}<style>${assets.style}</style>
<div id="page"><noscript>This page needs JavaScript.</noscript><p>${loading}</p></div>
${lines ? recordOf(lines) : ''}<script type="module">${script}</script>
`
  return { html, policy }
}

const recordOf = (lines: readonly string[]): string => `<script type="application/x-ndjson" id="record">
${lines.map((line) => line.replaceAll('<', '\\u003c')).join('\n')}
</script>
`

const hashOf = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Returns a page that shows one sentence instead of the state of the cluster. */
export const sentencePage = (text: string): string =>
  `${headWith()}<main><h1>Kubestage</h1><p>${text.replace(/[&<>"]/g, (letter) => escapes[letter]!)}</p></main>\n`
