import { createHash } from 'node:crypto'
import { uiAssets } from '../../apiserver/ui/assets.ts'

/**
 * Returns the page as one HTML file that contains the lines of a record. No text of the record can become markup or a
 * script.
 */
export async function page(lines: readonly string[]): Promise<string> {
  const assets = await uiAssets()
  const text = (name: string): string => assets.get(name)?.bytes.toString('utf8') ?? ''
  // In both, `</script` and `<!--` stand in texts alone.
  const script = text('main.js').replace(/<(?=\/script|!--)/gi, '\\x3c')
  const style = text('main.css')
  const record = lines.map((line) => line.replaceAll('<', '\\u003c')).join('\n')
  const policy = `default-src 'none'; script-src '${hashOf(script)}'; style-src '${hashOf(style)}'; img-src data:; base-uri 'none'; form-action 'none'`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Kubestage</title>
<link rel="icon" href="data:,">
<style>${style}</style>
<div id="page"><noscript>This page needs JavaScript.</noscript></div>
<script type="application/x-ndjson" id="record">
${record}
</script>
<script type="module">${script}</script>
`
}

const hashOf = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`
