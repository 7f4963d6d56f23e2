const oldest = [22, 19] as const

/** Throws one sentence if this Node is too old, instead of what it would say about some file deep within. */
export function checkNode(version = process.versions.node): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < oldest[0] || (major === oldest[0] && minor < oldest[1]))
    throw new Error(
      `the library of kubestage needs Node ${oldest.join('.')} or newer; this is Node ${version} (${process.execPath})`,
    )
}
