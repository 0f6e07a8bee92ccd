import Mocha from 'mocha'

/** The Spec reporter, closed by one plain line that a script can read: `12 passed, 0 failed`, and `, 1 skipped` if any. */
export default class PlainTotals extends Mocha.reporters.Spec {
  override epilogue(): void {
    super.epilogue()
    const { passes, failures, pending } = this.stats
    console.log(`${passes} passed, ${failures} failed${pending > 0 ? `, ${pending} skipped` : ''}`)
  }
}
