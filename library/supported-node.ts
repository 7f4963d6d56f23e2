const oldest = [22, 19] as const
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

// One sentence at import, instead of what an older Node would say about some file deep within.
if (major < oldest[0] || (major === oldest[0] && minor < oldest[1]))
  throw new Error(
    `the library of kubestage needs Node ${oldest.join('.')} or newer; this is Node ${process.versions.node}`,
  )
