import type { Attack } from '../attack.ts'
import { customResources, definitionsToAttack } from './custom-resources.ts'
import { definitionsThatGrow, growing, growingFields } from './growing.ts'
import { held } from './held.ts'
import { http1Bytes } from './http1-bytes.ts'
import { http2Frames } from './http2-frames.ts'
import { objectsToAttack, requests } from './requests.ts'
import { webhooks } from './webhooks.ts'

/** All attacks on one server, by what they are made of. */
export const attacksByKind: Record<string, readonly Attack[]> = {
  'frames of HTTP/2': http2Frames,
  'bytes of HTTP/1.1': http1Bytes,
  'what clients hold': held,
  requests,
  'custom resources': customResources,
  'what grows': [...growing, ...growingFields],
  webhooks,
}

/** What they need to find, as an administrator creates it. */
export const foundByAttacks = [...objectsToAttack, ...definitionsToAttack, ...definitionsThatGrow]
