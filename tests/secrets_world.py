"""Made-up secrets of every kind that Shield recognises, and the forms in which one could still be found somewhere."""

import base64
import hashlib
import json
import string
import urllib.parse
import zlib
from dataclasses import dataclass
from random import Random

_WORD = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_BASE32 = string.ascii_uppercase + "234567"


@dataclass(frozen=True)
class Planted:
    """`text` is what is written somewhere, `secret` the part of it that must never be seen again."""

    kind: str
    text: str
    secret: str

    def forms(self) -> set[bytes]:
        """The secret as it is, its middle, and both as base64 (wherever it begins), hex, URL, reversed, escaped."""
        raw = self.secret.encode()
        found = {raw, raw[::-1], raw.hex().encode(), raw.hex().upper().encode()}
        found |= {urllib.parse.quote(self.secret, safe="").encode(), urllib.parse.quote_plus(self.secret).encode()}
        found |= {json.dumps(self.secret)[1:-1].encode(), json.dumps(self.secret)[1:-1].replace("/", "\\/").encode()}
        if len(raw) >= 32:  # cut in two it would still be worth something
            found.add(raw[len(raw) // 2 - 9 : len(raw) // 2 + 9])
        for shift in range(3):
            text = base64.b64encode(b"x" * shift + raw)
            inner = text[4 if shift else 0 : len(text) - 4]  # what the neighbours have no part in
            found |= {inner, inner.replace(b"+", b"-").replace(b"/", b"_")}
        return {form for form in found if len(form) >= 8}


def _jwt(any_of) -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": any_of(_WORD, 12)})
    head = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return f"{head}.{any_of(_WORD, 43)}"


def crc_token(prefix: str, body: str) -> str:
    """A token as GitHub and npm make them; `body` is 30 letters and digits."""
    number, digits = zlib.crc32(body.encode()), ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        digits = (string.digits + string.ascii_uppercase + string.ascii_lowercase)[digit] + digits
    return prefix + body + digits


def bech32(prefix: str, data: str) -> str:
    """BIP 173, as its text gives it: `data` of the 32 letters, then the checksum."""
    letters = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

    def polymod(values):
        check = 1
        for value in values:
            top = check >> 25
            check = (check & 0x1FFFFFF) << 5 ^ value
            for bit, factor in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
                check ^= factor if (top >> bit) & 1 else 0
        return check

    head = [*(ord(c) >> 5 for c in prefix), 0, *(ord(c) & 31 for c in prefix)]
    check = polymod([*head, *(letters.index(c) for c in data), *[0] * 6]) ^ 1
    return f"{prefix}1{data}" + "".join(letters[(check >> 5 * (5 - place)) & 31] for place in range(6))


def _wallet(any_of) -> str:
    """An uncompressed private key of Bitcoin in its import format."""
    raw = b"\x80" + bytes.fromhex(any_of(_HEX, 64))
    number = int.from_bytes(raw + hashlib.sha256(hashlib.sha256(raw).digest()).digest()[:4], "big")
    digits = ""
    while number:
        number, digit = divmod(number, 58)
        digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"[digit] + digits
    return digits


def _macaroon(any_of) -> str:
    raw = b"\x02\x01\x08pypi.org\x02\x24" + any_of(_WORD, 90).encode()
    return "pypi-" + base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _uuid(any_of) -> str:
    return "-".join(any_of(_HEX, size) for size in (8, 4, 4, 4, 12))


_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

# before, the secret, after
_KINDS = {
    "adafruit_key": lambda a: ("", "aio_" + a(_WORD, 28), ""),
    "age_key": lambda a: ("", bech32("age-secret-key-", a(_BECH32, 52)).upper(), ""),
    "airtable_token": lambda a: ("", f"pat{a(_WORD, 14)}.{a(_HEX, 64)}", ""),
    "alibaba_key": lambda a: ("", "LTAI" + a(_WORD, 20), ""),
    "anthropic_key": lambda a: ("", "sk-ant-api03-" + a(_WORD, 90), ""),
    "artifactory_token": lambda a: ("", "AKCp" + a(_WORD, 69), ""),
    "asana_token": lambda a: ("", f"2/1209876543210/{a(string.digits, 16)}:{a(_HEX, 32)}", ""),
    "atlassian_token": lambda a: ("", "ATATT3" + a(_WORD, 60), ""),
    "authorization_header": lambda a: ("Authorization: Bearer ", a(_WORD, 30), ""),
    "aws_access_key": lambda a: ("", "AKIA" + a(_BASE32, 16), ""),
    "aws_bedrock_key": lambda a: ("", "ABSKQmVkcm9ja0FQSUtleS" + a(_WORD, 110), ""),
    "aws_secret_key": lambda a: ("aws_secret_access_key = ", a(_WORD + "/+", 40), ""),
    "azure_client_secret": lambda a: ("", a(_WORD, 3) + "8Q~" + a(_WORD, 34), ""),
    "azure_key": lambda a: ("", f"{a(_WORD, 52)}JQQJ9{a(_WORD, 27)}", ""),
    "azure_sas": lambda a: ("https://x.example/c?sv=1&sig=", a(_WORD, 43), "%3D"),
    "azure_storage_key": lambda a: ("AccountKey=", a(_WORD, 86) + "==", ""),
    "basic_auth_url": lambda a: ("https://bob:", a(_WORD, 14), "@x.example/"),
    "brevo_key": lambda a: ("", f"xkeysib-{a(_HEX, 64)}-{a(_WORD, 16)}", ""),
    "buildkite_token": lambda a: ("", "bkua_" + a(_HEX, 40), ""),
    "circleci_token": lambda a: ("", f"CCIPAT_{a(_WORD, 22)}_{a(_HEX, 40)}", ""),
    "clojars_token": lambda a: ("", "CLOJARS_" + a(_HEX, 60), ""),
    "cloudflare_token": lambda a: ("", f"cfut_{a(_WORD, 40)}{a(_HEX, 8)}", ""),
    "contentful_token": lambda a: ("", "CFPAT-" + a(_WORD, 43), ""),
    "crates_token": lambda a: ("", "cio" + a(_WORD, 32), ""),
    "database_url": lambda a: ("postgres://bob:", a(_WORD, 14), "@db.example/x"),
    "databricks_token": lambda a: ("", "dapi" + a(_HEX, 32), ""),
    "deepseek_key": lambda a: ("", "sk-" + a(_HEX, 32), ""),
    "digitalocean_token": lambda a: ("", "dop_v1_" + a(_HEX, 64), ""),
    "discord_token": lambda a: ("", "M" + a(_WORD, 23) + "." + a(_WORD, 6) + "." + a(_WORD, 27), ""),
    "discord_webhook": lambda a: ("", "https://discord.com/api/webhooks/123456789012345678/" + a(_WORD, 68), ""),
    "docker_token": lambda a: ("", "dckr_pat_" + a(_WORD, 27), ""),
    "doppler_token": lambda a: ("", f"dp.st.prd.{a(_WORD, 43)}", ""),
    "dropbox_token": lambda a: ("", "sl.u." + a(_WORD, 135), ""),
    "duffel_token": lambda a: ("", "duffel_live_" + a(_WORD, 43), ""),
    "dynatrace_token": lambda a: ("", f"dt0c01.{a(_BASE32, 24)}.{a(_BASE32, 64)}", ""),
    "e2b_key": lambda a: ("", "e2b_" + a(_HEX, 40), ""),
    "easypost_key": lambda a: ("", "EZAK" + a(_WORD, 54), ""),
    "elevenlabs_key": lambda a: ("", "sk_" + a(_HEX, 48), ""),
    "figma_token": lambda a: ("", "figd_" + a(_WORD, 43), ""),
    "firecrawl_key": lambda a: ("", "fc-" + a(_HEX, 32), ""),
    "fly_token": lambda a: ("", "fm2_" + a(_WORD, 160), ""),
    "github_token": lambda a: ("", crc_token("ghp_", a(_WORD, 30)), ""),
    "gitlab_token": lambda a: ("", "glpat-" + a(_WORD, 20), ""),
    "google_api_key": lambda a: ("", "AIza" + a(_WORD, 35), ""),
    "google_oauth": lambda a: ("", "ya29." + a(_WORD, 60), ""),
    "grafana_token": lambda a: ("", "glsa_" + a(_WORD, 32), ""),
    "groq_key": lambda a: ("", "gsk_" + a(_WORD, 52), ""),
    "harness_token": lambda a: ("", f"pat.{a(_WORD, 22)}.{a(_HEX, 24)}.{a(_WORD, 20)}", ""),
    "heroku_key": lambda a: ("", "HRKU-" + a(_WORD, 40), ""),
    "huggingface_token": lambda a: ("", "hf_" + a(_WORD, 34), ""),
    "infracost_key": lambda a: ("", "ico-" + a(_WORD, 32), ""),
    "jwt": lambda a: ("", _jwt(a), ""),
    "langsmith_key": lambda a: ("", f"lsv2_pt_{a(_HEX, 32)}_{a(_HEX, 10)}", ""),
    "linear_key": lambda a: ("", "lin_api_" + a(_WORD, 40), ""),
    "mailchimp_key": lambda a: ("", a(_HEX, 32) + "-us12", ""),
    "mailgun_key": lambda a: ("", "key-" + a(_HEX, 32), ""),
    "mapbox_token": lambda a: ("", f"sk.eyJ{a(_WORD, 60)}.{a(_WORD, 22)}", ""),
    "named_secret": lambda a: ("DB_PASSWORD=", a(_WORD, 16) + "7a", ""),
    "netlify_token": lambda a: ("", "nfp_" + a(_WORD, 36), ""),
    "newrelic_key": lambda a: ("", "NRAK-" + a(string.ascii_uppercase + string.digits, 27), ""),
    "nostr_key": lambda a: ("", bech32("nsec", a(_BECH32, 52)), ""),
    "notion_token": lambda a: ("", "ntn_" + a(_WORD, 46), ""),
    "npm_auth": lambda a: ("//registry.example/:_authToken=", a(_WORD, 36), ""),
    "npm_token": lambda a: ("", crc_token("npm_", a(_WORD, 30)), ""),
    "nuget_key": lambda a: ("", "oy2" + a(string.ascii_lowercase + string.digits, 43), ""),
    "nvidia_key": lambda a: ("", "nvapi-" + a(_WORD, 64), ""),
    "okta_token": lambda a: ("SSWS ", "00" + a(_WORD, 40), ""),
    "onepassword_token": lambda a: ("", "ops_eyJ" + a(_WORD, 300), ""),
    "openai_key": lambda a: ("", "sk-proj-" + a(_WORD, 80), ""),
    "openrouter_key": lambda a: ("", "sk-or-v1-" + a(_HEX, 64), ""),
    "perplexity_key": lambda a: ("", "pplx-" + a(_WORD, 48), ""),
    "pinecone_key": lambda a: ("", f"pcsk_{a(_WORD, 6)}_{a(_WORD, 63)}", ""),
    "plaid_token": lambda a: ("", f"access-production-{_uuid(a)}", ""),
    "planetscale_token": lambda a: ("", "pscale_tkn_" + a(_WORD, 43), ""),
    "posthog_key": lambda a: ("", "phx_" + a(_WORD, 43), ""),
    "postman_key": lambda a: ("", f"PMAK-{a(_HEX, 24)}-{a(_HEX, 34)}", ""),
    "prefect_key": lambda a: ("", "pnu_" + a(_WORD, 36), ""),
    "private_key": lambda a: (
        "-----BEGIN OPENSSH PRIVATE KEY-----\n",
        a(_WORD, 64),
        "\n-----END OPENSSH PRIVATE KEY-----",
    ),
    "pulumi_token": lambda a: ("", "pul-" + a(_HEX, 40), ""),
    "putty_key": lambda a: ("PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n", a(_WORD, 64), ""),
    "pypi_token": lambda a: ("", _macaroon(a), ""),
    "readme_key": lambda a: ("", "rdme_" + a(string.ascii_lowercase + string.digits, 70), ""),
    "replicate_token": lambda a: ("", "r8_" + a(_WORD, 37), ""),
    "resend_key": lambda a: ("", f"re_{a(_WORD, 8)}_{a(_WORD, 24)}", ""),
    "rubygems_key": lambda a: ("", "rubygems_" + a(_HEX, 48), ""),
    "scalingo_token": lambda a: ("", "tk-us-" + a(_WORD, 48), ""),
    "sendgrid_key": lambda a: ("", "SG." + a(_WORD, 22) + "." + a(_WORD, 43), ""),
    "sentry_token": lambda a: ("", "sntrys_" + a(_WORD, 60), ""),
    "shippo_token": lambda a: ("", "shippo_live_" + a(_HEX, 40), ""),
    "shopify_token": lambda a: ("", "shpat_" + a(_HEX, 32), ""),
    "slack_token": lambda a: ("", "xoxb-123456789012-" + a(_WORD, 24), ""),
    "slack_webhook": lambda a: ("", "https://hooks.slack.com/services/T0000/B0000/" + a(_WORD, 24), ""),
    "sonar_token": lambda a: ("", "squ_" + a(_HEX, 40), ""),
    "sourcegraph_token": lambda a: ("", f"sgp_{a(_HEX, 16)}_{a(_HEX, 40)}", ""),
    "square_token": lambda a: ("", "sq0atp-" + a(_WORD, 22), ""),
    "stripe_key": lambda a: ("", "sk_live_" + a(_WORD, 24), ""),
    "supabase_key": lambda a: ("", "sbp_" + a(_HEX, 40), ""),
    "tailscale_key": lambda a: ("", f"tskey-auth-{a(_WORD, 12)}CNTRL-{a(_WORD, 32)}", ""),
    "tavily_key": lambda a: ("", "tvly-dev-" + a(_WORD, 32), ""),
    "teams_webhook": lambda a: (
        "",
        f"https://x.webhook.office.com/webhookb2/{_uuid(a)}@{_uuid(a)}/IncomingWebhook/{a(_HEX, 32)}/{_uuid(a)}",
        "",
    ),
    "telegram_token": lambda a: ("https://api.telegram.org/bot", "123456789:AA" + a(_WORD, 33), "/sendMessage"),
    "terraform_token": lambda a: ("", f"{a(_WORD, 14)}.atlasv1.{a(_WORD, 67)}", ""),
    "twilio_key": lambda a: ("", "SK" + a(_HEX, 32), ""),
    "typeform_token": lambda a: ("", "tfp_" + a(_WORD, 59), ""),
    "unverified_token": lambda a: ("", "ghp_" + a(_WORD, 34) + "a7", ""),
    "vault_token": lambda a: ("", "hvs." + a(_WORD, 30), ""),
    "vercel_token": lambda a: ("", "vcp_" + a(_WORD, 56), ""),
    "wallet_key": lambda a: ("", _wallet(a), ""),
    "wandb_key": lambda a: ("", "wandb_v1_" + a(_WORD, 70), ""),
    "wireguard_key": lambda a: ("PrivateKey = ", a(_WORD, 43) + "=", ""),
    "xai_key": lambda a: ("", "xai-" + a(_WORD, 80), ""),
    "yandex_key": lambda a: ("", "AQVN" + a(_WORD, 36), ""),
    "zapier_webhook": lambda a: ("", f"https://hooks.zapier.com/hooks/catch/1234567/{a(_HEX, 7)}", ""),
}


def planted(number: int, *, seed: int) -> list[Planted]:
    """So many secrets, all different, the kinds in turn."""
    draws = Random(seed)

    def any_of(alphabet: str, size: int) -> str:
        return "".join(draws.choice(alphabet) for _ in range(size))

    found = []
    for index in range(number):
        kind = sorted(_KINDS)[index % len(_KINDS)]
        before, secret, after = _KINDS[kind](any_of)
        found.append(Planted(kind=kind, text=f"{before}{secret}{after}", secret=secret))
    return found
