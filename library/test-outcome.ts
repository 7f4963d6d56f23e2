/** Says how a test ended, as far as its runner tells `afterEach`. */
export interface TestOutcome {
  name: string
  failed: boolean
  /** Quotes the failure; empty if the runner does not report a message. */
  message: string
}

/** Argument that tap passes: the test. */
interface TapTest {
  passing(): boolean
  fullname?: string
  name: string
}
/** Argument that vitest passes: the test's context. */
interface VitestContext {
  task: { name: string; suite?: { name?: string }; result?: { state?: string; errors?: { message?: string }[] } }
}
/** Argument that node:test passes: the test's context. */
interface NodeTestContext {
  passed: boolean
  fullName?: string
  name: string
  error?: unknown
}

/** Describes the arguments that tap, vitest and node:test pass to the functions of `afterEach`. */
export type EndedTest = TapTest | VitestContext | NodeTestContext

/** Reads the outcome of a test. Throws an Error for the argument of an unknown runner. */
export function outcomeOf(test: EndedTest): TestOutcome {
  if (isMap(test) && 'passing' in test && typeof test.passing === 'function')
    return { name: (test.fullname ?? test.name).replace(/^.* > TAP > /, ''), failed: !test.passing(), message: '' }
  if (isMap(test) && 'task' in test && isMap(test.task)) return ofVitest(test)
  if (isMap(test) && 'passed' in test && typeof test.passed === 'boolean')
    return { name: test.fullName ?? test.name, failed: !test.passed, message: messageOf(test.error) }
  throw new Error(
    'afterTest takes what tap, vitest or node:test give to afterEach; with other runners call keepRecord(name) after a test that failed',
  )
}

function ofVitest({ task: { name, suite, result } }: VitestContext): TestOutcome {
  const fullName = suite?.name ? `${suite.name} > ${name}` : name
  return { name: fullName, failed: result?.state === 'fail', message: result?.errors?.[0]?.message ?? '' }
}

function messageOf(error: unknown): string {
  // node:test wraps what a test has thrown.
  const inner = error instanceof Error && error.cause !== undefined ? error.cause : error
  return inner instanceof Error ? inner.message : typeof inner === 'string' ? inner : ''
}

/** vitest's context is a function with properties. */
const isMap = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function'
