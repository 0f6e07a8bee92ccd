import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { deliveryHeaders } from '#webhooks/sender.ts'
import { snippetsOf } from '../support/snippets.ts'

const NOW = 1_795_259_835
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const BODY = '{"event":"customer.created","data":{"name":"Conceição"}}'

/** How the printed function is called from the environment, and the program that runs it. */
const LANGUAGES = {
  csharp: {
    program: ['dotnet', 'run', 'Verify.cs'],
    check: ['dotnet', '--version'],
    frame: (text: string) =>
      text.replace(
        'static bool',
        `string Of(string name) => Environment.GetEnvironmentVariable(name)!;
var sent = new[] { "webhook-id", "webhook-timestamp", "webhook-signature" }.ToDictionary(name => name, name => Of(name.Replace('-', '_')));
Console.Write(IsAuthentic(sent, Encoding.UTF8.GetBytes(Of("body")), Of("secret"), DateTimeOffset.FromUnixTimeSeconds(long.Parse(Of("now")))).ToString().ToLower());

static bool`,
      ),
  },
  java: {
    program: ['java', 'Verify.java'],
    check: ['java', '-version'],
    frame: (text: string) =>
      text.replace(
        'final class Signatures {',
        `final class Signatures {
    public static void main(String[] none) throws Exception {
        Map<String, String> env = System.getenv();
        Map<String, String> sent = Map.of("webhook-id", env.get("webhook_id"), "webhook-timestamp", env.get("webhook_timestamp"), "webhook-signature", env.get("webhook_signature"));
        System.out.print(isAuthentic(sent, env.get("body").getBytes(StandardCharsets.UTF_8), env.get("secret"), Long.parseLong(env.get("now"))));
    }`,
      ),
  },
  python: {
    program: ['python3', 'verify.py'],
    check: ['python3', '--version'],
    frame: (text: string) => `${text}
import os
sent = {name: os.environ[name.replace("-", "_")] for name in ("webhook-id", "webhook-timestamp", "webhook-signature")}
print(str(is_authentic(sent, os.environb[b"body"], os.environ["secret"], float(os.environ["now"]))).lower(), end="")
`,
  },
  php: {
    program: ['php', 'verify.php'],
    check: ['php', '--version'],
    frame: (text: string) => `${text}
foreach (['webhook-id', 'webhook-timestamp', 'webhook-signature'] as $name) $sent[$name] = getenv(str_replace('-', '_', $name));
echo is_authentic($sent, getenv('body'), getenv('secret'), (int) getenv('now')) ? 'true' : 'false';
`,
  },
} as const

describe('the printed check of a signature', function () {
  this.timeout(300_000)
  const snippets = snippetsOf('docs/webhooks.md').filter(({ heading }) => heading === 'Verify in other languages')

  for (const [language, { program, check, frame }] of Object.entries(LANGUAGES)) {
    if (spawnSync(check[0], check.slice(1), { stdio: 'ignore' }).status !== 0) {
      console.log(`skipped, because there is no ${check[0]}: the printed check in ${language}`)
      continue
    }
    it(`in ${language} takes a delivery, and refuses forged, altered and old ones [HOOK-840]`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'tillbook-verify-'))
      try {
        const text = snippets.find((each) => each.language === language)?.text ?? ''
        await writeFile(join(folder, program.at(-1) as string), frame(text))
        const delivery = { id: 'x', event: 'customer.created', revision: 1, sequence: 1, body: BODY }
        const rotating = {
          secret: SECRET,
          next_secret: `whsec_${'A'.repeat(43)}=`,
          switch_at: '2999-01-01T00:00:00.000Z',
        }
        const sent = deliveryHeaders(delivery as never, rotating, NOW * 1000) as Record<string, string>
        const verdict = (changed: Record<string, string> = {}) =>
          execFileSync(program[0], program.slice(1), {
            cwd: folder,
            encoding: 'utf8',
            env: {
              ...process.env,
              DOTNET_NOLOGO: 'true',
              DOTNET_CLI_TELEMETRY_OPTOUT: 'true',

              LC_ALL: 'C.UTF-8',
              webhook_id: sent['webhook-id'] as string,
              webhook_timestamp: sent['webhook-timestamp'] as string,
              webhook_signature: sent['webhook-signature'] as string,
              body: BODY,
              secret: ` ${SECRET}\n`,
              now: String(NOW + 10),
              ...changed,
            },
          })
        expect(verdict()).to.equal('true')
        expect(verdict({ webhook_id: 'y' })).to.equal('false')
        expect(verdict({ body: `${BODY} ` })).to.equal('false')
        expect(verdict({ now: String(NOW + 302) })).to.equal('false')
        expect(verdict({ webhook_timestamp: '9'.repeat(30) })).to.equal('false')
        expect(verdict({ webhook_signature: 'v1,' })).to.equal('false')
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    })
  }
})
