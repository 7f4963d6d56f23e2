import { EVENT_ID, type Event, getScalarValue, load, parseEvents } from 'js-yaml'

/** Parses YAML; a file that has nothing but comments gives an empty map. Throws the parser's error. */
export function parseYaml(source: string): unknown {
  const isEmpty = source.split('\n').every((line) => /^\s*(#.*)?$/.test(line))
  return isEmpty ? {} : (load(source) ?? {})
}

/**
 * Returns the 1-based line at which an entry of valid YAML begins. The path holds the keys and indexes that lead to the
 * entry; if it leads to none, the line is that of the last part of the path that is there.
 */
export function lineIn(source: string, path: readonly string[]): number {
  const events = parseEvents(source, {})
  let next = 1 // The first event is the beginning of the document.
  let offset = 0
  /** Passes over a value. `rest` is the path within the value; it is absent if the path does not lead there. */
  const pass = (rest?: readonly string[]): void => {
    const type = events[next++]?.type
    if (type !== EVENT_ID.MAPPING && type !== EVENT_ID.SEQUENCE) return
    for (let index = 0; events[next] && events[next]?.type !== EVENT_ID.POP; index++) {
      const entry = events[next]
      const name = type === EVENT_ID.MAPPING ? nameOf(source, entry) : String(index)
      const isOnPath = rest !== undefined && name === rest[0]
      if (isOnPath) offset = Math.max(offset, offsetOf(entry))
      if (type === EVENT_ID.MAPPING) pass()
      pass(isOnPath ? rest.slice(1) : undefined)
    }
    next++
  }
  pass(path)
  return source.slice(0, offset).split('\n').length
}

const nameOf = (source: string, key?: Event): string | undefined =>
  key?.type === EVENT_ID.SCALAR ? getScalarValue(source, key) : undefined

function offsetOf(event?: Event): number {
  if (event?.type === EVENT_ID.SCALAR) return event.valueStart
  if (event?.type === EVENT_ID.ALIAS) return event.anchorStart
  return event && 'start' in event ? event.start : -1
}
