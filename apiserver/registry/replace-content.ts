import type { KubeObject } from '../../shared/api/types.ts'

/** Whoever has the object goes on with it: what it says is another's. */
export function replaceContent(object: KubeObject, content: object): void {
  for (const key of Object.keys(object)) delete object[key]
  Object.assign(object, content)
}
