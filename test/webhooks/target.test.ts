import { expect } from 'chai'
import { isPublicAddress, urlProblem } from '#webhooks/sender.ts'

describe('the target of a webhook', () => {
  describe('urlProblem', () => {
    const accepted = [
      'https://example.com/hooks',
      'https://example.com:8443/a/b?c=d',
      'HTTPS://EXAMPLE.COM',
      'https://caf\u00e9.example/ganchos?x=\u00e7',
      'https://8.8.8.8/',
      'https://[2606:4700::1111]/',
      'https://localhost.example.com/',
      `https://example.com/${'a'.repeat(1980)}`,
    ]
    for (const url of accepted) {
      it(`accepts ${url.slice(0, 60)}`, () => expect(urlProblem(url, false)).to.equal(null))
    }

    const refused: [url: string, problem: RegExp][] = [
      ['', /deve ser uma URL https/],
      ['example.com/hooks', /deve ser uma URL https/],
      ['ftp://example.com', /deve ser uma URL https/],
      ['https://', /deve ser uma URL https/],
      ['https:///example.com', /deve ser uma URL https/],
      ['https:example.com', /deve ser uma URL https/],
      ['https://exa mple.com', /deve ser uma URL https/],
      ['https://example.com/\n', /deve ser uma URL https/],
      ['https://example.com/\0', /deve ser uma URL https/],
      ['https://example.com/\ud800', /deve ser uma URL https/],
      ['https://example.com:99999', /deve ser uma URL https/],
      ['https://example.com:0/', /deve ser uma URL https/],
      ['https://1.2.3.4.5', /deve ser uma URL https/],
      [`https://example.com/${'a'.repeat(1981)}`, /2000 caracteres/],
      ['https://user:secret@example.com', /usuário nem senha/],
      ['https://token@example.com', /usuário nem senha/],
      ['https://example.com/#fragment', /fragmento/],
      ['https://example.com/#', /fragmento/],
      ['http://example.com', /deve usar https/],
      ['https://localhost', /rede privada/],
      ['https://LOCALHOST.', /rede privada/],
      ['https://till.localhost:8443/', /rede privada/],
      ['https://127.0.0.1', /rede privada/],
      ['https://0x7f.1', /rede privada/],
      ['https://2130706433', /rede privada/],
      ['https://0', /rede privada/],
      ['https://169.254.169.254/latest/meta-data', /rede privada/],
      ['https://168.63.129.16/machine?comp=goalstate', /rede privada/],
      ['https://[::1]', /rede privada/],
      ['https://[::ffff:10.0.0.1]', /rede privada/],
    ]
    for (const [url, problem] of refused) {
      it(`refuses ${JSON.stringify(url.slice(0, 60))} [HOOK-3]`, () => expect(urlProblem(url, false)).to.match(problem))
    }

    for (const url of ['http://localhost:3001/hooks', 'http://127.0.0.1', 'https://[::1]:8443', 'http://10.1.2.3'])
      it(`accepts ${url} if private targets are allowed`, () => expect(urlProblem(url, true)).to.equal(null))

    for (const url of [
      'http://a:b@localhost',
      'http://localhost/#a',
      'localhost:3001',
      `http://localhost/${'a'.repeat(2000)}`,
    ])
      it(`still refuses ${url.slice(0, 60)} then`, () => expect(urlProblem(url, true)).to.be.a('string'))
  })

  describe('isPublicAddress', () => {
    const open = [
      '1.1.1.1',
      '8.8.8.8',
      '172.15.0.1',
      '172.32.0.1',
      '100.63.0.1',
      '100.128.0.1',
      '::ffff:8.8.8.8',
      '2001:4860:4860::8888',
      ...['168.63.129.15', '168.63.129.17', '161.25.255.255', '161.27.0.0', '166.7.255.255', '166.12.0.0'],
    ]
    const closed = [
      // Metadata addresses of cloud providers.
      ...['168.63.129.16', '::ffff:168.63.129.16', '64:ff9b::a83f:8110', '161.26.0.10', '166.8.0.1', '166.11.255.254'],
      ...['100.100.100.200', '192.0.0.192', 'fd20:ce::254', 'fd00:a9fe:a9fe::1'],
      ...[
        '0.0.0.0',
        '0.1.2.3',
        '10.0.0.1',
        '100.64.0.1',
        '127.0.0.1',
        '127.255.255.254',
        '169.254.169.254',
        '172.16.0.1',
      ],
      ...['172.31.255.255', '192.0.0.1', '192.0.2.1', '192.168.0.1', '198.18.0.1', '198.51.100.1', '203.0.113.1'],
      ...[
        '224.0.0.1',
        '239.255.255.255',
        '240.0.0.1',
        '255.255.255.255',
        '::',
        '::1',
        '::127.0.0.1',
        '::ffff:127.0.0.1',
      ],
      ...[
        '::ffff:7f00:1',
        '::ffff:0:127.0.0.1',
        '64:ff9b::7f00:1',
        '64:ff9b:1::a00:1',
        'fc00::1',
        'fd00:ec2::254',
        'fe80::1',
      ],
      ...[
        'fec0::1',
        'ff02::1',
        '2001::1',
        '2001:db8::1',
        '2002:7f00:1::',
        '100::1',
        '4000::1',
        'fe80::1%eth0',
        'localhost',
        '',
      ],
    ]
    for (const address of open) it(`${address} is public`, () => expect(isPublicAddress(address)).to.equal(true))
    for (const address of closed)
      it(`${address || 'nothing'} is not public [HOOK-3]`, () => expect(isPublicAddress(address)).to.equal(false))
  })
})
