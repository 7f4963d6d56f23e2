import type { KubeObject } from '../../../shared/api/types.ts'

/** Replaces the content of an object in place, so that references to the object stay valid. */
export function replaceContent(object: KubeObject, content: object): void {
  for (const key of Object.keys(object)) delete object[key]
  Object.assign(object, content)
}
