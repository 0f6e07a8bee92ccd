import { findChromium, HOW_TO_GET_ONE } from '../test/support/browser/chromium.ts'

/** Prints which browser the tests of pages use; exits with 1 where there is none. */
const path = findChromium()
console.log(path ?? HOW_TO_GET_ONE)
process.exitCode = path ? 0 : 1
