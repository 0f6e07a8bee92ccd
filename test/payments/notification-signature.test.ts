import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import { isSigned } from '#payments/notification-log.ts'

const SECRET = 'a secret of the store'
const TS = '1742505638683'

const hmac = (manifest: string, secret = SECRET) => createHmac('sha256', secret).update(manifest).digest('hex')
const header = (manifest: string, secret?: string) => `ts=${TS},v1=${hmac(manifest, secret)}`
const genuine = {
  dataId: '123456',
  requestId: 'req-1',
  signature: header(`id:123456;request-id:req-1;ts:${TS};`),
}

describe('origin of a notification', () => {
  it('is the provider if data.id, request id and time are signed with the secret [RCV-6]', () => {
    expect(isSigned(genuine, SECRET)).to.equal(true)
    const spaced = genuine.signature.replace(',', ' , ')
    expect(isSigned({ ...genuine, signature: spaced }, SECRET)).to.equal(true)
  })

  it('is the provider without a request id, if none was signed', () => {
    const signature = header(`id:123456;ts:${TS};`)
    expect(isSigned({ ...genuine, requestId: undefined, signature }, SECRET)).to.equal(true)
    expect(isSigned({ ...genuine, signature }, SECRET)).to.equal(false)
  })

  it('is the provider if it signed the letters of an id as given or in lower case', () => {
    for (const id of ['PAY01K', 'pay01k']) {
      const signature = header(`id:${id};request-id:req-1;ts:${TS};`)
      expect(isSigned({ ...genuine, dataId: 'PAY01K', signature }, SECRET), id).to.equal(true)
    }
  })

  it('is the provider for any signing time, in seconds or milliseconds [RCV-6]', () => {
    for (const ts of ['1', '1577836800', '1577836800000']) {
      const signature = `ts=${ts},v1=${hmac(`id:123456;request-id:req-1;ts:${ts};`)}`
      expect(isSigned({ ...genuine, signature }, SECRET), ts).to.equal(true)
    }
  })

  const FORGED: Record<string, Partial<typeof genuine> | { signature: undefined } | { requestId: undefined }> = {
    'without a signature': { signature: undefined },
    'with an empty signature': { signature: '' },
    'with an invalid signature': { signature: 'let me in' },
    'without a time': { signature: `v1=${hmac('id:123456;request-id:req-1;')}` },
    'without a hash': { signature: `ts=${TS}` },
    'with a hash of another version': { signature: genuine.signature.replace('v1', 'v2') },
    'with another secret': { signature: header(`id:123456;request-id:req-1;ts:${TS};`, 'another') },
    'with a signature of half the length': { signature: genuine.signature.slice(0, -32) },
    'with another payment': { dataId: '123457' },
    'with another request id': { requestId: 'req-2' },
    'without the request id that was signed': { requestId: undefined },
    'with another time': { signature: genuine.signature.replace(TS, '1742505638684') },
    'with a time that is not a number': { signature: genuine.signature.replace(TS, `${TS}x`) },
  }
  for (const [name, change] of Object.entries(FORGED)) {
    it(`is unknown ${name} [RCV-6]`, () => {
      expect(isSigned({ ...genuine, ...change }, SECRET)).to.equal(false)
    })
  }
})
