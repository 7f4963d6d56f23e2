const oldest = '22.19'

// One sentence at import, instead of what an older Node would say about some file deep within.
if (process.versions.node.localeCompare(oldest, 'en', { numeric: true }) < 0)
  throw new Error(`the library of kubestage needs Node ${oldest} or newer; this is Node ${process.versions.node}`)
