import type { Handler } from '../handler.ts'
import { update } from '../verbs/update.ts'

/** Replaces spec.finalizers; the kind's strategy knows what that means. */
export const finalizeNamespace: Handler = update
