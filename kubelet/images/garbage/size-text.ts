const units = ['KiB', 'MiB', 'GiB', 'TiB']

/** Writes an amount of bytes as the messages of upstream's garbage collection do: `1.0 KiB`, `120.5 GiB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  let amount = bytes / 1024
  let unit = 0
  for (; amount >= 1024 && unit < units.length - 1; unit++) amount /= 1024
  return `${amount.toFixed(1)} ${units[unit]}`
}
