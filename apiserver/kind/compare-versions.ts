const stages = ['', 'beta', 'alpha']
/** Orders versions as discovery shows them: stable ones first, newer ones before older ones. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version))
  if (!left || !right) return left ? -1 : right ? 1 : a < b ? -1 : Number(a > b)
  const [, leftMajor, leftStage = '', leftMinor = 0] = left
  const [, rightMajor, rightStage = '', rightMinor = 0] = right
  return (
    stages.indexOf(leftStage) - stages.indexOf(rightStage) ||
    Number(rightMajor) - Number(leftMajor) ||
    Number(rightMinor) - Number(leftMinor)
  )
}
