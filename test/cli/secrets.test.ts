import { Readable } from 'node:stream'
import { expect } from 'chai'
import { parseCommandLine, usageFor } from '#cli/arguments.ts'
import { COMMANDS } from '#cli/commands.ts'
import { Refused, withSecrets } from '#cli/verb.ts'

describe('secrets of the command line', () => {
  const given = (line: string, input: string) => {
    const { name, values } = parseCommandLine(line.split(' '))
    return withSecrets(COMMANDS[name].flags, values, Readable.from([input]))
  }

  it('are read from standard input for a value of -', async () => {
    for (const input of ['s3cret, with spaces ', 's3cret, with spaces \n', 's3cret, with spaces \r\nand more\n']) {
      const values = await given('user set-password --company 3 --email a@b.co --password -', input)
      expect(values).to.deep.equal({ company: '3', email: 'a@b.co', password: 's3cret, with spaces ' })
    }
  })

  it('are read line by line, in the order of the usage', async () => {
    expect(usageFor(['store', 'update'])).to.match(/--access-token TOKEN\|-\] \[--notification-secret SECRET\|-/)
    const values = await given('store update loja --notification-secret - --access-token -', 'token\nsecret\n')
    expect(values).to.deep.equal({ alias: 'loja', 'access-token': 'token', 'notification-secret': 'secret' })
    const one = await given('store update loja --access-token token --notification-secret -', 'secret\n')
    expect(one).to.include({ 'access-token': 'token', 'notification-secret': 'secret' })
  })

  it('are refused if the input ends too early', async () => {
    for (const input of ['', 'token\n']) {
      const error = await given('store update loja --access-token - --notification-secret -', input).catch((e) => e)
      expect(error).to.be.instanceOf(Refused)
      expect((error as Refused).refusal.refused).to.equal('validation_failed')
      expect((error as Refused).refusal.details?.fields).to.have.property('notification-secret')
    }
  })

  it('leave standard input unread if no value is -', async () => {
    const { name, values } = parseCommandLine('company update 3 --name -'.split(' '))
    const input = Readable.from(['Loja\n'])
    expect(await withSecrets(COMMANDS[name].flags, values, input)).to.deep.equal({ company: '3', name: '-' })
    expect(input.readableDidRead).to.equal(false)
  })
})
