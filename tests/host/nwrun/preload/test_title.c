/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of processes: what an interpreter runs, and nothing else of the arguments. */
#include "host/nwrun/preload/title.h"

#include "tests/check.h"

enum { CAP = 48, ARGUMENTS_MAX = 16 };

/* Arguments are separated by "|". */
static const struct {
	const char *arguments, *name;
} cases[] = {
	{ "", "" },
	{ "rsync|-a|src|dst", "rsync" },
	{ "/usr/bin/rsync|python3", "rsync" },
	{ "-bash", "bash" },
	{ "sshd: root@pts/0", "sshd" },
	{ "nginx: master process /usr/sbin/nginx -g daemon off;", "nginx" },
	{ "/usr/sbin/dovecot:", "dovecot" },
	{ "/opt/my programs/copy", "copy" },
	/* python */
	{ "python3", "python3" },
	{ "python3|train.py|--token|secret", "train.py (python3)" },
	{ "/usr/bin/python3|/usr/bin/borg|create|repo", "borg (python3)" },
	{ "/usr/bin/python3.11|-u|/srv/jobs/backup.py", "backup.py (python3)" },
	{ "python3|-m|http.server|8000", "http.server (python3)" },
	{ "python3|-mhttp.server", "http.server (python3)" },
	{ "python3|-Bum|venv|x", "venv (python3)" },
	{ "python3|-c|import secret", "python3" },
	{ "python3|-Bc|import secret", "python3" },
	{ "python3|-W|ignore|-X|dev|a.py", "a.py (python3)" },
	{ "python3|-Wignore|a.py", "a.py (python3)" },
	{ "python3|-", "python3" },
	{ "python3|--|a.py", "a.py (python3)" },
	{ "python3|-m", "python3" },
	{ "pypy3|a.py", "a.py (pypy3)" },
	{ "python3-config|a", "python3-config" },
	{ "pythonista|a", "pythonista" },
	/* perl, ruby, php, R, others */
	{ "perl|-w|get.pl|x", "get.pl (perl)" },
	{ "perl5.36.0|get.pl", "get.pl (perl5)" },
	{ "perl|-I|lib|-MData::Dumper|get.pl", "get.pl (perl)" },
	{ "perl|-lane|print secret|file", "perl" },
	{ "perl|-pi.bake|-e|code|file", "perl" },
	{ "perl|-0777|-i.e|fix.pl", "fix.pl (perl)" },
	{ "ruby|-rjson|-I|lib|sync.rb", "sync.rb (ruby)" },
	{ "ruby3.1|-e|secret", "ruby3.1" },
	{ "perl|-0pe|secret|file", "perl" },
	{ "php8.2|-d|memory_limit=1G|-f|load.php", "load.php (php8)" },
	{ "php|load.php", "load.php (php)" },
	{ "php|-r|secret;", "php" },
	{ "Rscript|--vanilla|fit.R|x", "fit.R (Rscript)" },
	{ "/usr/lib/R/bin/exec/R|--no-echo|--file=dir/fit.R|--args|secret", "fit.R (R)" },
	{ "R|--no-save|--args|secret", "R" },
	{ "lua5.4|-l|socket|get.lua", "get.lua (lua5)" },
	{ "julia|--project=.|-t|4|run.jl", "run.jl (julia)" },
	/* node */
	{ "node|--max-old-space-size=4096|server.js", "server.js (node)" },
	{ "node|-r|dotenv/config|--import|x|/srv/up.mjs", "up.mjs (node)" },
	{ "node|-pe|secret", "node" },
	{ "node|--eval=secret|x", "node" },
	{ "deno|run|--allow-net|https://host/dir/x.ts?token=secret", "x.ts (deno)" },
	{ "deno|fmt|x.ts", "deno" },
	/* java */
	{ "java|-Xmx2g|-jar|/opt/app/app.jar|--password|x", "app.jar (java)" },
	{ "java|-cp|a.jar:b.jar|-Dkey=secret|org.example.Copy|x", "org.example.Copy (java)" },
	{ "java|--module-path|mods|-m|mod.copy/org.example.Main", "org.example.Main (java)" },
	{ "java|@files|-ea|Main", "Main (java)" },
	{ "java|--class-path=a.jar|Main", "Main (java)" },
	{ "dotnet|copy.dll", "copy.dll (dotnet)" },
	/* shells */
	{ "/bin/sh|/usr/local/bin/backup.sh|x", "backup.sh (sh)" },
	{ "bash|-euo|pipefail|run.sh", "run.sh (bash)" },
	{ "bash|+o|history|-x|run", "run (bash)" },
	{ "bash|-lc|secret|run.sh", "bash" },
	{ "sh|-s|secret", "sh" },
	{ "bash|--rcfile|rc|run.sh", "run.sh (bash)" },
	/* wrappers */
	{ "env|python3|a.py", "a.py (python3)" },
	{ "env|-i|-u|X|KEY=secret|PATH=/bin|rsync|a", "rsync" },
	{ "env|-S|python3 -u", "env" },
	{ "env|A=/b", "env" },
	{ "timeout|-k|5|60|rsync|a", "rsync" },
	{ "timeout|60|python3|-m|pip", "pip (python3)" },
	{ "timeout|60", "timeout" },
	{ "nice|-n|10|ionice|-c3|tar|c", "tar" },
	{ "nice|-10|tar", "tar" },
	{ "sudo|-u|root|-E|bash|x.sh", "x.sh (bash)" },
	{ "busybox|sh|x.sh", "x.sh (sh)" },
	{ "busybox|wget|url", "wget" },
	{ "uv|run|--with|requests|fetch.py", "fetch.py (uv)" },
	{ "uv|run|python|fetch.py", "fetch.py (python)" },
	{ "uv|run|-m|fetch", "fetch (uv)" },
	{ "uv|pip|install|x", "uv" },
	{ "conda|run|-n|base|python|a.py", "a.py (python)" },
	{ "nohup|nice|nohup|nice|nohup|tar", "nohup" },
	/* long and odd */
	{ "python3|a-very-long-name-of-a-script-that-does-not-fit-into-it.py",
	    "a-very-long-name-of-a-script-that-doe (python3)" },
	{ "python3|aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xc3\xa4z.py",
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa (python3)" },
	{ "python3|dir/", "python3" },
	{ "python3|", "python3" },
};

static size_t
arguments_split(char *text, const char *argv[ARGUMENTS_MAX])
{
	char *next = text;
	size_t n = 0;

	while (text[0] != '\0' && next != NULL && n < ARGUMENTS_MAX)
		argv[n++] = strsep(&next, "|");
	return n;
}

static void
test_cases(void)
{
	char text[256], line[256], name[CAP];
	const char *argv[ARGUMENTS_MAX];
	size_t i, n, len, k;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "%s", cases[i].arguments);
		n = arguments_split(text, argv);
		title_make(argv, n, name, sizeof(name));
		CHECK_STR(name, cases[i].name);
		CHECK(strstr(name, "secret") == NULL);
		len = strlen(cases[i].arguments);
		memcpy(line, cases[i].arguments, len + 1);
		for (k = 0; k < len; k++)
			if (line[k] == '|')
				line[k] = '\0';
		title_of_cmdline(line, len + (len > 0), name, sizeof(name));
		CHECK_STR(name, cases[i].name);
	}
}

/* Every cap leaves a text that ends within. */
static void
test_caps(void)
{
	static const char *const argv[] = { "/usr/bin/python3", "script.py" };
	char name[CAP];
	size_t cap;

	for (cap = 1; cap <= sizeof(name); cap++) {
		memset(name, 'x', sizeof(name));
		title_make(argv, 2, name, cap);
		CHECK(memchr(name, '\0', cap) != NULL);
		CHECK(cap == sizeof(name) || name[cap] == 'x');
	}
}

int
main(void)
{
	test_cases();
	test_caps();
	return check_done("test_title");
}
