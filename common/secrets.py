"""What a secret looks like in outputs, logs, command lines and configurations.

Every pattern is linear: no unbounded part is followed by something that could send the search back over it, and what
stands before a keyword is never matched. Outputs may hold lines of a megabyte, and a stranger may have written them.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Kind(NamedTuple):
    """One sort of secret: its name, lower-case words without which it cannot occur, and where it lies (`s`)."""

    name: str
    guards: tuple[str, ...]
    pattern: re.Pattern[str]


NO_SECRET = re.compile(
    r"|\(?(?:null|none|nil|unset|n/a|not set|true|false|yes|no|on|off|enabled|disabled|required|optional|hidden)\)?"
    r"|[*x.•]+|\$\{?\w+\}?|\$\([^)]*\)|%[sd]|\[?(?:redacted|hidden|masked)\]?|<[^<>]*>|\{\{?[^{}]*\}?\}",
    re.I,
)
"""Values that stand where a secret could stand."""

PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
PEM_BODY = re.compile(r"(?:(?:\s|\\[nr])*+(?:(?:Proc-Type|DEK-Info|Comment)[^\n]*+|[A-Za-z0-9+/]{16,}+={0,2}))*+")
PEM_REACH = 16_384
"""Characters within which a key ends; the longest RSA keys have 13,000."""

# a value, in quotes (escaped ones too) or bare
_VALUE = r"(?P<q>\\?[\"'])?(?P<s>(?(q)(?:(?!(?P=q))[^\n\0])++|(?![{\[])[^\s,;\"'\0<>&|)}\]]++))"
_IS = r"(?:\\?[\"'])?[ \t]{0,16}(?:=>|:=|[=:])[ \t]{0,16}"
_GAP = r"(?:[ \t]{1,16}|\0)"
_PASS_MORE = r"(?:[_-]?(?:hash|enc|encrypted|\d{1,2}))?" + _IS + _VALUE
_WHOSE = (
    *("storage", "comp", "db", "user", "admin", "root", "bmc", "ipmi"),
    *("ldap", "bind", "smtp", "redis", "loc", "sudo", "become"),
)
_WORD = r"(?P<s>[^\s\0\"';|]++)"
# numbers of tokens are results of a training run, BGP communities are routes, a key may be named by its file
_COUNT = r"(?!\d[\d.,]{0,11}[KMBT%]?(?![\w+/=-]))"
_ROUTE = r"(?!\[?\"?\d{1,10}:\d{1,10})"
_FILE = r"(?![\"']?[/~])"
_TEXT_TOKENS = "".join(f"(?<!{w}_)" for w in ("eos", "bos", "pad", "unk", "sep", "cls", "max", "min", "num", "per"))
_CRYPTED = r"(?:(?:level[ \t]+\d{1,2}[ \t]+)?(?:\d{1,2}[a-z]?|sha\d{3}|md5|encrypted|plain|clear)[ \t]+)?"

_TOKENS = (
    r"gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255}|glpat-[A-Za-z0-9_-]{16,255}",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,255}|xapp-[A-Za-z0-9-]{10,255}",
    r"(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{16}(?![0-9A-Za-z])",
    r"AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,1024}|GOCSPX-[0-9A-Za-z_-]{20,64}",
    r"hf_[A-Za-z0-9]{20,255}|api_org_[A-Za-z0-9]{20,255}|nvapi-[A-Za-z0-9_-]{20,255}|wandb_v1_[A-Za-z0-9_]{20,255}",
    r"sk-[A-Za-z0-9_-]{20,255}|[sr]k_live_[A-Za-z0-9]{16,255}|npm_[A-Za-z0-9]{30,255}|pypi-AgE[A-Za-z0-9_-]{30,1024}",
    r"dckr_[po]at_[A-Za-z0-9_-]{20,255}|hv[sbr]\.[A-Za-z0-9_-]{20,255}|dapi[0-9a-f]{32}|glsa_[A-Za-z0-9_]{30,255}",
    r"eyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{4,8192}(?:\.[A-Za-z0-9_-]{0,4096})?",
)
_TOKEN_GUARDS = (
    "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- xox xapp- akia asia aroa aida aiza ya29. gocspx- hf_ api_org_ nvapi- "
    "wandb_v1_ sk- sk_live_ rk_live_ npm_ pypi-age dckr_ hvs. hvb. hvr. dapi glsa_ eyj"
)


def _kind(name: str, guards: str, pattern: str, flags: int = re.I) -> Kind:
    return Kind(name, tuple(guards.split()), re.compile(pattern, flags))


KINDS: tuple[Kind, ...] = (
    _kind(
        "authorization header",
        "authorization",
        r"authorization" + _IS + r"(?:\\?[\"'])?(?:(?:bearer|basic|digest|token|negotiate|apikey)[ \t]{1,8})?"
        r"(?P<s>[^\"'\\\n\0]++)",
    ),
    _kind("cookie", "cookie", r"(?:^|[^\w-])(?:set-)?cookie" + r"2?:[ \t]{0,8}(?P<s>[^\"'\n\0]++)", re.I | re.M),
    _kind("bearer token", "bearer", r"\bbearer[ \t]{1,8}(?P<s>[A-Za-z0-9._~+/=-]{12,}+)"),
    _kind("credentials in a URL", "://", r"://(?P<s>[^/\s:@\"'<>\0]{0,256}+:[^/\s@\"'<>\0]{1,512}+)@"),
    _kind("web hook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/(?P<s>[\w/]++)"),
    _kind(
        "signature in a URL",
        "sig key= code=",
        r"[?&](?:sig|key|code|(?:x-(?:amz|goog)-)?(?:signature|credential))=(?P<s>[^&\s\"'#<>\0]++)",
    ),
    _kind("token", _TOKEN_GUARDS, r"(?<![A-Za-z0-9_-])(?P<s>" + "|".join(_TOKENS) + ")", 0),
    _kind("weights-and-biases key", "wandb", r"wandb[^\n\0]{0,40}?[^0-9a-f\n\0](?P<s>[0-9a-f]{40})(?![0-9a-f])"),
    _kind("password hash", "$", r"(?P<s>\$(?:[1567y]|2[abxy]|gy|sha1|argon2[id]{1,2})\$[A-Za-z0-9./$=,+-]{8,256}+)", 0),
    _kind(
        "variable of a container",
        "value",
        r"name\\?[\"']?:\s{0,8}\\?[\"']?[\w.-]{0,64}?(?:password|passwd|secret|token|api_?key|access_?key|credentials?)"
        r"\\?[\"']?,?\s{1,64}\\?[\"']?value\\?[\"']?:[ \t]{0,8}" + _VALUE,
    ),
    _kind(
        "password",
        "passwd password passphrase passkey pass_key pass-key bindpw rootpw",
        r"(?:passw(?:or)?d|passphrase|pass[_-]?key|bindpw|rootpw)" + _PASS_MORE,
    ),
    # guarded by whole words: counters of passed packets are in every `ethtool -S`
    _kind(
        "password",
        " ".join(f"{whose}{sign}pass" for whose in _WHOSE for sign in ("", "_", "-")),
        f"(?:{'|'.join(_WHOSE)})[_-]?pass" + _PASS_MORE,
    ),
    _kind("password", "pwd", r"(?<![a-z])pwd(?=\W{0,3}[=:]\s{0,8}[\"']?[^\"'/\s])" + _PASS_MORE),
    _kind(
        "secret",
        "secret cred jwt psk",
        r"(?:secret|credentials?|jwt|\bpsk)(?:[_-]?(?:key|hash|value))?" + _IS + _FILE + _COUNT + _VALUE,
    ),
    _kind("token", "token", _TEXT_TOKENS + r"token(?:[_-]?(?:secret|value))?" + _IS + _FILE + _COUNT + _VALUE),
    _kind(
        "key",
        "key",
        r"(?:(?:api|access|account|private|auth|shared|encryption|signing|license|munge|client)[_-]?key"
        r"(?:[_-]?(?:id|data|secret))?)" + _IS + _FILE + _VALUE,
    ),
    _kind("community", "communit", r"(?:\b|_)community(?:[_-]?string)?" + _IS + _ROUTE + _VALUE),
    _kind("registry login", "auth", r"\\?\"auth\\?\"[ \t]{0,8}:[ \t]{0,8}\\?\"(?P<s>[A-Za-z0-9+/=_-]{8,}+)"),
    _kind(
        "option of a command",
        "-pass -tok -sec -api -acc -com -aut -cli",
        r"(?<![\w-])--?(?:[a-z]{1,16}-)?(?:password|passwd|passphrase|pass|token|secret|api-?key|access-?key|"
        r"client-secret|community|auth-token|secret-key)(?:[ \t]{1,16}|\0|=)(?!-)" + _VALUE,
    ),
    _kind(
        "password on a command line",
        "sshpass mysql ipmitool ldap redis-cli docker smbclient snmp",
        r"\b(?:sshpass\b[^\n|;&]{0,100}?"
        + _GAP
        + r"-p\0?[ \t]*|(?:mysql\w{0,8}|mysqladmin)\b[^\n|;&]{0,200}?"
        + _GAP
        + r"-p|ipmitool\b[^\n|;&]{0,200}?"
        + _GAP
        + r"-P\0?[ \t]*|ldap\w{1,8}\b[^\n|;&]{0,200}?"
        + _GAP
        + r"-w\0?[ \t]*|redis-cli\b[^\n|;&]{0,200}?"
        + _GAP
        + r"-a\0?[ \t]*|docker[ \t\0]login\b[^\n|;&]{0,200}?"
        + _GAP
        + r"-p\0?[ \t]*|smbclient\b[^\n|;&]{0,200}?%|snmp[a-z]{3,12}\b[^\n|;&]{0,200}?"
        + _GAP
        + r"-[cAX]\0?[ \t]*)"
        + _WORD,
        0,
    ),
    _kind("password of SNMP", "snmp", r"\bsnmp[a-z]{3,12}\b[^\n|;&]{0,200}?" + _GAP + r"-X\0?[ \t]*" + _WORD, 0),
    _kind(
        "login of curl", "curl", r"\bcurl\b[^\n|;&]{0,200}?" + _GAP + r"(?:-u|--user)\0?[ \t=]*[^\s:\0]{1,64}+:" + _WORD
    ),
    _kind("password of openssl", "pass:", r"-pass(?:in|out)?(?:[ \t]{1,8}|\0)pass:" + _WORD),
    _kind("netrc", "login", r"\blogin[ \t]{1,8}[^\s\0]{1,100}+[ \t]{1,8}password[ \t]{1,8}" + _WORD),
    _kind("login of wandb", "wandb", r"\bwandb[ \t\0]login(?:[ \t\0]--relogin)?[ \t\0](?!-)" + _WORD),
    _kind(
        "SNMP community",
        "communit com2sec sink snmp",
        r"(?:\bsnmp(?:-server)?[ \t]{1,8}community|\br[ow]community6?|\bread(?:only|write)-community|"
        r"\bcom2sec6?[ \t]{1,8}[^\s]{1,64}+[ \t]{1,8}[^\s]{1,64}+|\btrap2?sink[ \t]{1,8}[^\s]{1,64}+|"
        r"\bsnmp-server[ \t]{1,8}host[ \t]{1,8}[^\s]{1,64}+(?:[ \t]{1,8}(?:traps|informs|version[ \t]{1,8}(?:1|2c)))*+)"
        r"[ \t]{1,8}(?!version)\"?" + _WORD,
    ),
    _kind(
        "SNMP community", "snmp_community", r"\bsnmp_community(?:\||\"[ \t]{0,8}:\s{0,8}\{\s{0,32}\")(?P<s>[^\"\s|:]++)"
    ),
    _kind(
        "password of a switch",
        "password secret",
        r"^[ \t]{0,16}(?:no[ \t])?(?:username|neighbor|enable)\b[^\n]{0,200}?[ \t](?:password|secret)[ \t]{1,8}"
        + _CRYPTED
        + _WORD,
        re.I | re.M,
    ),
    _kind(
        "password of a switch",
        "password secret key",
        r"(?:\b(?:password|secret|key-string|key|passphrase)[ \t]{1,8}(?:0|[5-9]|8a|sha512)[ \t]{1,8}\"?)"
        r"(?P<s>[^\s\0\"]{6,}+)",
    ),
    _kind(
        "key of a login server",
        "tacacs radius",
        r"\b(?:tacacs|radius)[\w-]{0,16}\b[^\n]{0,200}?[ \t](?:key|secret|passkey)[ \t]{1,8}(?:\d[ \t]{1,8})?\"?"
        + _WORD,
    ),
    _kind(
        "routing key",
        "-key md5 auth priv",
        r"\b(?:(?:authentication-key|message-digest-key)[ \t]{1,8}\d{1,10}[ \t]{1,8}(?:md5|sha\d{0,3})"
        r"[ \t]{1,8}(?:\d[ \t])?|"
        r"auth[ \t]{1,8}(?:md5|sha[-\d]{0,4})[ \t]{1,8}|priv[ \t]{1,8}(?:3?des|aes[-\d]{0,4})[ \t]{1,8})" + _WORD,
    ),
)
