/** Cuts a text in its middle: pods of one workload differ at their ends. */
export const shorten = (text: string, pixels: number): string => {
  const most = Math.max(4, Math.floor(pixels / 7))
  if (text.length <= most) return text
  const end = Math.floor(most / 2)
  return `${text.slice(0, most - end - 1)}…${text.slice(-end)}`
}
