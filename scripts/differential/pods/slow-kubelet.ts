/**
 * Preloaded into a kubelet of ours (`--import`), it starts and stops containers seconds late, as a real node does that
 * has little time. A life that this changes depends on the node's speed, on a real node as well.
 */
import { registerHooks } from 'node:module'

const wrapped = '/kubelet/runtime/tracked-runtime.ts'
const wrapper = new URL('slow-runtime.ts', import.meta.url).href

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    const isWrapped = found.url.endsWith(wrapped) && context.parentURL !== wrapper
    return isWrapped ? { ...found, url: wrapper } : found
  },
})
