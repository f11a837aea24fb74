"""The shapes of secrets, as their issuers document them for scanners."""

from typing import Final

__all__ = ["SHAPES"]

# A boundary, or what ends with a letter or digit that is no part of the word: an escaped line break or tab, a
# percent-encoded character, a terminal's colour.
_BEGINS: Final = r"(?:\b|\\[nrt]|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]*[mK])"

# Kind and pattern; group 1 is the secret, a `\b` before it stands for `_BEGINS`. One with a prefix that means nothing
# else needs no boundary: glued to other text it is still the secret.
_KINDS: Final[tuple[tuple[str, str], ...]] = (
    ("adafruit_key", r"\b(aio_[A-Za-z0-9]{28})\b"),
    ("age_key", r"\b(AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{58})\b"),
    ("airtable_token", r"\b(pat[A-Za-z0-9]{14}\.[0-9a-f]{64})\b"),
    ("alibaba_key", r"\b(LTAI[A-Za-z0-9]{12,20})\b"),
    ("anthropic_key", r"(sk-ant-[a-z0-9]{2,10}-[A-Za-z0-9_-]{20,})"),
    ("artifactory_token", r"\b(AKCp[A-Za-z0-9]{69}|cmVmdGtuO[A-Za-z0-9]{55})\b"),
    ("asana_token", r"\b([12]/[0-9]{13,19}(?:/[0-9]{13,19})?:[0-9a-f]{32})\b"),
    ("atlassian_token", r"\b(ATATT3[A-Za-z0-9_=-]{50,})"),
    (
        "authorization_header",
        r"(?i)\bauthorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)\s+([A-Za-z0-9._~+/=-]{16,})",
    ),
    ("aws_access_key", r"\b((?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})\b"),
    ("aws_bedrock_key", r"\b(ABSKQmVkcm9ja0FQSUtleS[A-Za-z0-9+/]{80,}={0,2})"),
    (
        "aws_secret_key",
        r"(?i)\b(?:aws_?)?secret_?(?:access_?)?key[\"']?\s*[:=]\s*[\"']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)",
    ),
    (
        "azure_client_secret",
        r"(?:^|[^A-Za-z0-9_~.-])([A-Za-z0-9_~.]{3}[78]Q~[A-Za-z0-9_~.-]{31,34})(?:[^A-Za-z0-9_~.-]|$)",
    ),
    ("azure_key", r"\b([A-Za-z0-9]{52}JQQJ9[A-Za-z0-9]{27})\b"),
    ("azure_sas", r"[?&]sig=([A-Za-z0-9%+/]{40,}=*)"),
    ("azure_storage_key", r"AccountKey=([A-Za-z0-9+/]{86}==)"),
    ("basic_auth_url", r"(?i)\b(?:https?|s?ftps?|smtps?|imaps?|socks5h?)://[^\s/:@?#\"']*:([^\s/@\"'<>{}$]{3,})@"),
    ("brevo_key", r"\b(xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16})\b"),
    ("buildkite_token", r"\b(bkua_[0-9a-f]{40})\b"),
    ("circleci_token", r"\b(CCI(?:PAT|PRJ)_[A-Za-z0-9]{22}_[0-9a-f]{40})\b"),
    ("clojars_token", r"\b(CLOJARS_[0-9a-z]{60})\b"),
    ("cloudflare_token", r"\b(cf(?:k|ut|at)_[A-Za-z0-9]{40}[0-9a-f]{8}|v1\.0-[0-9a-f]{24}-[0-9a-f]{146})\b"),
    ("contentful_token", r"\b(CFPAT-[A-Za-z0-9_-]{43})"),
    ("crates_token", r"\b(cio[A-Za-z0-9]{32})\b"),
    (
        "database_url",
        (
            r"(?i)\b(?:postgres|postgresql|mysql|mariadb|mongodb|redis|rediss|amqp|amqps|mssql|sqlserver|clickhouse|cockroachdb|ldaps?)"
            r"(?:\+[a-z0-9]+)?://[^\s:/@\"']*:([^\s@/\"'<>{}$]{2,})@"
        ),
    ),
    ("databricks_token", r"\b(dapi[0-9a-f]{32})(?:-[0-9])?\b"),
    ("deepseek_key", r"\b(sk-[0-9a-f]{32})\b"),
    ("digitalocean_token", r"\b(do[opr]_v1_[0-9a-f]{64})\b"),
    ("discord_token", r"\b([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38})"),
    (
        "discord_webhook",
        r"((?:https?://)?(?:canary\.|ptb\.)?discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/[0-9]{15,20}/[A-Za-z0-9_-]{40,})",
    ),
    ("docker_token", r"(dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,})"),
    ("doppler_token", r"\b(dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44})\b"),
    ("dropbox_token", r"\b(sl\.(?:u\.)?[A-Za-z0-9_-]{130,})"),
    ("duffel_token", r"\b(duffel_(?:test|live)_[A-Za-z0-9_=-]{43})"),
    ("dynatrace_token", r"\b(dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64})\b"),
    ("e2b_key", r"\b(e2b_[0-9a-f]{40})\b"),
    ("easypost_key", r"\b(EZ[AT]K[A-Za-z0-9]{54})\b"),
    ("elevenlabs_key", r"\b(sk_[0-9a-f]{48})\b"),
    ("figma_token", r"\b(fig[dor]_[A-Za-z0-9_-]{40,})"),
    ("firecrawl_key", r"\b(fc-[0-9a-f]{32})\b"),
    ("fly_token", r"\b(fm[12][ar]?_[A-Za-z0-9+/]{100,}={0,3}|fo1_[A-Za-z0-9_-]{43})"),
    ("github_token", r"((?:gh[opusr]_[A-Za-z0-9]{36,})|(?:github_pat_[A-Za-z0-9_]{60,}))"),
    ("gitlab_token", r"(gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_.-]{20,})"),
    ("google_api_key", r"\b(AIza[A-Za-z0-9_-]{35})(?:[^A-Za-z0-9_-]|$)"),
    ("google_oauth", r"\b(ya29\.[A-Za-z0-9_-]{30,}|GOCSPX-[A-Za-z0-9_-]{28}|1(?://|%2[Ff]%2[Ff])0[A-Za-z0-9_-]{40,})"),
    ("grafana_token", r"\b(gl(?:c|sa)_[A-Za-z0-9+/_=-]{32,})"),
    ("groq_key", r"\b(gsk_[A-Za-z0-9]{52})\b"),
    ("harness_token", r"\b([ps]at\.[A-Za-z0-9_-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20})\b"),
    ("heroku_key", r"\b(HRKU-[A-Za-z0-9_-]{36,})"),
    ("huggingface_token", r"\b(hf_[A-Za-z0-9]{34,40})\b"),
    ("infracost_key", r"\b(ico-[A-Za-z0-9]{32})\b"),
    ("jwt", r"\b(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,})"),
    ("langsmith_key", r"\b(lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10})\b"),
    ("linear_key", r"\b(lin_api_[A-Za-z0-9]{40}|lin_oauth_[0-9a-f]{64})\b"),
    ("mailchimp_key", r"\b([0-9a-f]{32}-us[0-9]{1,2})\b"),
    ("mailgun_key", r"\b(key-[0-9a-f]{32})\b"),
    ("mapbox_token", r"\b(sk\.eyJ[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{22})"),
    ("netlify_token", r"\b(nfp_[A-Za-z0-9]{36,})\b"),
    ("newrelic_key", r"\b(NRAK-[A-Z0-9]{27})\b"),
    ("nostr_key", r"\b(nsec1[ac-hj-np-z02-9]{58})\b"),
    ("notion_token", r"\b((?:ntn_|secret_)[A-Za-z0-9]{43,50})\b"),
    ("npm_auth", r"(?i)_auth(?:token)?\s*=\s*([A-Za-z0-9+/=_-]{20,})"),
    ("npm_token", r"\b(npm_[A-Za-z0-9]{36})\b"),
    ("nuget_key", r"\b(oy2[a-z0-9]{43})\b"),
    ("nvidia_key", r"\b(nvapi-[A-Za-z0-9_-]{64})"),
    ("okta_token", r"SSWS (00[A-Za-z0-9_-]{40})"),
    (
        "onepassword_token",
        r"\b(ops_eyJ[A-Za-z0-9+/]{250,}={0,3}|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3})\b",
    ),
    (
        "openai_key",
        r"\b(sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,}|sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|sk-[A-Za-z0-9]{48})",
    ),
    ("openrouter_key", r"\b(sk-or-v1-[0-9a-f]{64})\b"),
    ("perplexity_key", r"\b(pplx-[A-Za-z0-9]{48})\b"),
    ("pinecone_key", r"\b(pcsk_[A-Za-z0-9]{5,6}_[A-Za-z0-9]{50,})\b"),
    ("plaid_token", r"\b(access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"),
    ("planetscale_token", r"\b(pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64})"),
    ("posthog_key", r"\b(ph[xs]_[A-Za-z0-9]{43,})\b"),
    ("postman_key", r"\b(PMAK-[0-9a-f]{24}-[0-9a-f]{34})\b"),
    ("prefect_key", r"\b(pn[ub]_[A-Za-z0-9]{36})\b"),
    ("private_key", r"(-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----)"),
    ("pulumi_token", r"\b(pul-[0-9a-f]{40})\b"),
    ("putty_key", r"(PuTTY-User-Key-File-[0-9]: )"),
    ("pypi_token", r"\b(pypi-AgE[A-Za-z0-9_-]{50,})"),
    ("readme_key", r"\b(rdme_[a-z0-9]{70})\b"),
    ("replicate_token", r"\b(r8_[A-Za-z0-9]{37})\b"),
    ("resend_key", r"\b(re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24})\b"),
    ("rubygems_key", r"\b(rubygems_[0-9a-f]{48})\b"),
    ("scalingo_token", r"\b(tk-us-[A-Za-z0-9_-]{48})"),
    ("sendgrid_key", r"\b(SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64})"),
    ("sentry_token", r"\b(sntry[su]_[A-Za-z0-9_=+/-]{40,})"),
    ("shippo_token", r"\b(shippo_(?:live|test)_[0-9a-f]{40})\b"),
    ("shopify_token", r"\b(shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32})\b"),
    ("slack_token", r"\b(xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{20,})"),
    (
        "slack_webhook",
        r"((?:https?://)?hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,})",
    ),
    ("sonar_token", r"\b(sq[apu]_[0-9a-f]{40})\b"),
    ("sourcegraph_token", r"\b(sgp_(?:(?:[0-9a-f]{16}|local)_)?[0-9a-f]{40})\b"),
    ("square_token", r"\b(sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,43})"),
    ("stripe_key", r"\b((?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{32,}=*)"),
    ("supabase_key", r"\b(sbp_(?:v0_|oauth_)?[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{31})"),
    ("tailscale_key", r"\b(tskey-(?:auth|api|client|scim|webhook)-[A-Za-z0-9]{8,}-[A-Za-z0-9]{20,})\b"),
    ("tavily_key", r"\b(tvly-(?:dev-|prod-)?[A-Za-z0-9]{32})\b"),
    (
        "teams_webhook",
        r"(https://[a-z0-9-]+\.webhook\.office\.com/webhookb2/[0-9a-f@-]{73}/IncomingWebhook/[0-9a-f]{32}/[0-9a-f-]{36})",
    ),
    ("telegram_token", r"\b(?:bot)?([0-9]{8,10}:AA[A-Za-z0-9_-]{33})(?:[^A-Za-z0-9_-]|$)"),
    ("terraform_token", r"\b([A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70})"),
    ("twilio_key", r"\b(SK[0-9a-f]{32})\b"),
    ("typeform_token", r"\b(tfp_[A-Za-z0-9_.=-]{59})"),
    ("vault_token", r"\b(hv[sbr]\.[A-Za-z0-9_-]{24,})"),
    ("vercel_token", r"\b(vc[aikpr]_[A-Za-z0-9]{40,})\b"),
    ("wallet_key", r"\b(xprv[1-9A-HJ-NP-Za-km-z]{107}|5[HJK][1-9A-HJ-NP-Za-km-z]{49}|[KL][1-9A-HJ-NP-Za-km-z]{51})\b"),
    ("wandb_key", r"\b(wandb_v1_[A-Za-z0-9_]{60,})\b"),
    ("wireguard_key", r"\bPrivateKey\s*=\s*([A-Za-z0-9+/]{43}=)"),
    ("xai_key", r"\b(xai-[A-Za-z0-9]{80})\b"),
    ("yandex_key", r"\b(AQVN[A-Za-z0-9_-]{35,38})(?:[^A-Za-z0-9_-]|$)"),
    ("zapier_webhook", r"((?:https?://)?hooks\.zapier\.com/hooks/catch/[0-9]+/[a-z0-9]{5,})"),
    (
        "named_secret",
        (
            r"(?i)(?:password|passwd|passphrase|pwd|secret|api_?-?key|access_?-?key|auth_?-?token|access_?-?token|private_?-?key|"
            r"client_?-?secret|signing_?-?key|encryption_?-?key|[_-]token|^token)[A-Za-z0-9_]{0,20}[\"']?\s{0,3}(?:=>|:=|=|:)\s{0,3}[\"']?([^\s\"'`,;<>]{8,200})"
        ),
    ),
)


def _begun(pattern: str) -> str:
    flags, begins, rest = pattern.partition(r"\b")
    return f"{flags}{_BEGINS}{rest}" if begins and flags in ("", "(?i)") else pattern


SHAPES: Final[tuple[tuple[str, str], ...]] = tuple((kind, _begun(pattern)) for kind, pattern in _KINDS)
