import { relative } from 'node:path'
import { expect } from 'chai'
import { commandLine } from '#lib/own-program.ts'

describe('commands that the program prints', () => {
  it('are those of npm where the tools of development are', () => {
    expect(commandLine('demo', '')).to.equal('npm run -s demo')
    expect(commandLine('demo', '--url http://127.0.0.1:80')).to.equal('npm run -s demo -- --url http://127.0.0.1:80')
    expect(commandLine('<command>', '[--json]')).to.equal('npm run -s tillbook -- <command> [--json]')
  })

  it('start the compiled program in an installation without them', () => {
    const program = relative(process.cwd(), '/app/dist/src/cli/main.js')
    expect(commandLine('demo', '--url http://127.0.0.1:80', '/app')).to.equal(
      `node ${program} demo --url http://127.0.0.1:80`,
    )
    expect(commandLine('demo', '', '/app')).to.equal(`node ${program} demo`)
  })
})
