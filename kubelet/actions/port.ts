import type { ActionTarget } from './action.ts'

/** A number, or the name of one of the container's ports. Throws in the words of upstream's pkg/probe/util.go. */
export function resolvePort(port: number | string, { ports }: Pick<ActionTarget, 'ports'>): number {
  const named = ports.find(({ name }) => name === port)?.containerPort
  const number = named ?? (typeof port === 'number' ? port : parse(port))
  if (number < 1 || number > 65535) throw new Error(`invalid port number: ${number}`)
  return number
}

function parse(port: string): number {
  if (!/^[+-]?\d+$/.test(port)) throw new Error(`strconv.Atoi: parsing ${JSON.stringify(port)}: invalid syntax`)
  return Number(port)
}
