import type { WriteHandler } from '../handler.ts'
import { update } from '../verbs/update.ts'

/** Replaces spec.finalizers; the kind's strategy knows what that means. */
export const finalizeNamespace: WriteHandler = update
