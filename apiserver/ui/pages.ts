const head = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Kubestage</title>
<link rel="icon" href="data:,">
`

/** The script fills this page. */
export const indexPage = `${head}<link rel="stylesheet" href="main.css">
<script type="module" src="main.js"></script>
<div id="page"><noscript>This page needs JavaScript.</noscript></div>
`

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Returns a page that shows one sentence instead of the state of the cluster. */
export const sentencePage = (text: string): string =>
  `${head}<main><h1>Kubestage</h1><p>${text.replace(/[&<>"]/g, (letter) => escapes[letter]!)}</p></main>\n`
