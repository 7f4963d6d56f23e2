/** A mutation failed, with upstream's message; the policy's failurePolicy decides what becomes of the request. */
export class PatchProblem extends Error {}
