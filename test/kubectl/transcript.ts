/** Sessions with kubectl as text: `$`, a command, and what it says. */

/** One command of a session. */
export interface Step {
  /** Lines with `#` above it. */
  comment: string
  command: string
  output: string
}

export function sessionOf(text: string): Step[] {
  const steps: Step[] = []
  let comment = ''
  for (const part of text.split(/^(?=\$ )/m)) {
    const [, command = '', rest = ''] = /^\$ ([^\n]*)\n(.*)$/s.exec(part) ?? []
    if (!command) {
      comment = part
      continue
    }
    // Comments at its end are about the next command.
    const [, output = rest, next = ''] = /^(.*\n\n|)((?:# [^\n]*\n)+)$/s.exec(rest) ?? []
    steps.push({ comment, command, output: output.replace(/\n$/, '') })
    comment = next
  }
  return steps
}

/** What differs from run to run, by what stands for it. */
const varying: [pattern: RegExp, replacement: string][] = [
  [/X509SHA256=[0-9a-f]+/g, 'X509SHA256=<fingerprint>'],
  [/kube-api-access-[a-z0-9]{5}/g, 'kube-api-access-<suffix>'],
  [/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, '<token>'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<uid>'],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b/g, '<time>'],
  [/\b\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000\b/g, '<time>'],
  [/\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC\b/g, '<time>'],
  [/(Resource Version: +)\d+/g, '$1<version>'],
  [/(resourceVersion: )"\d+"/g, '$1<version>'],
  [/\b10\.96\.\d+\.\d+\b/g, '<cluster-ip>'],
  [/(https:\/\/127\.0\.0\.1):\d+/g, '$1:<port>'],
  [/\/tmp\/(LIVE|MERGED)-\d+\//g, '/tmp/$1/'],
  [/(^|\s)\d+(?:m\d+)?m?s(?=\s|$)/gm, '$1<age>'],
  [/<age> \(x\d+ over \w+\)/g, '<age>'],
  [/(?<=\S) {3,}/g, '   '],
  [/-{10,}/g, '----------'],
  [/ +$/gm, ''],
]

export const normalised = (text: string): string =>
  varying.reduce((all, [pattern, replacement]) => all.replace(pattern, replacement), text)
