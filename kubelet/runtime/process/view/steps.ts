/** Describes one step of `container.pl`: a name and its words. Steps are taken one after the other. */
export type Step = [name: string, ...words: string[]]

export const flags = {
  readOnly: 0x1,
  noSuid: 0x2,
  noDevices: 0x4,
  noPrograms: 0x8,
  remount: 0x20,
  bind: 0x1000,
  recursive: 0x4000,
  isPrivate: 0x40000,
}

export const mount = (source: string, target: string, type: string, flags: number, data = ''): Step => [
  'mount',
  source,
  target,
  type,
  String(flags),
  data,
]

export const tmpfs = (target: string, options: string, flags = 0): Step =>
  mount('kubestage', target, 'tmpfs', flags, options)

/** Returns the same mount as a step that may fail: the next step is then taken. */
export function ifPossible([, ...words]: Step): Step {
  return ['mountIfPossible', ...words]
}
