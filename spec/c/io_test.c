/* Files: what is written is read; hostile, damaged and cut ones are refused; a failed write leaves nothing
 * behind. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../fuzz/mutate.h"
#include "check.h"
#include "io/safetensors.h"

static hd_ctx *cx;
static char directory[] = "/tmp/heed-io-XXXXXX";
static char path[sizeof directory + 16];

/* ---- helpers */

static void write_bytes(const char *to, const void *bytes, size_t size) {
    FILE *file = fopen(to, "wb");
    CHECK(file != NULL);
    CHECK(fwrite(bytes, 1, size, file) == size);
    CHECK(fclose(file) == 0);
}

static size_t read_bytes(const char *from, void *bytes, size_t capacity) {
    FILE *file = fopen(from, "rb");
    CHECK(file != NULL);
    size_t size = fread(bytes, 1, capacity, file);
    CHECK(size < capacity);
    fclose(file);
    return size;
}

static size_t compose(uint8_t *bytes, const char *header, size_t header_size, size_t data_size) {
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)((uint64_t)header_size >> (8 * i));
    memcpy(bytes + 8, header, header_size);
    memset(bytes + 8 + header_size, 1, data_size);
    return 8 + header_size + data_size;
}

static int entries(void) {
    int count = 0;
    DIR *d = opendir(directory);
    CHECK(d != NULL);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) count += e->d_name[0] != '.';
    closedir(d);
    return count;
}

static bool says(const char *part) {
    bool said = strstr(cx->error.message, part) != NULL;
    if (!said) printf("instead of \"%s\": %s\n", part, cx->error.message);
    return said;
}

/* The file at path does not load, and says so. */
static void refused(const char *part) {
    int64_t live = cx->account->live;
    CHECK(hd_safetensors_load(cx, path, false) == NULL);
    CHECK(cx->error.status == HD_EIO);
    CHECK(says(part) && says(path));
    CHECK(cx->account->live == live);
}

static void refused_header(const char *header, size_t data_size, const char *part) {
    uint8_t bytes[4096];
    write_bytes(path, bytes, compose(bytes, header, strlen(header), data_size));
    refused(part);
}

/* Four tensors and metadata; *count of them. */
static hd_named_tensor *sample(int64_t *count) {
    static hd_named_tensor named[4];
    static const hd_dtype dtypes[] = {HD_F32, HD_I64, HD_BOOL, HD_BF16};
    static const char *const names[] = {"weight", "a \"quoted\" \xc3\xa9\n", "none", ""};
    const int64_t shapes[][2] = {{2, 3}, {0, 0}, {0, 5}, {3, 1}};
    const int dims[] = {2, 0, 2, 1};
    for (int i = 0; i < 4; i++) {
        named[i] = (hd_named_tensor){names[i], hd_tensor_zeros(cx, dtypes[i], dims[i], shapes[i])};
        CHECK(named[i].tensor != NULL);
        uint8_t *data = hd_data(named[i].tensor);
        for (size_t b = 0; b < (size_t)hd_numel(named[i].tensor) * hd_dtype_size(dtypes[i]); b++)
            data[b] = (uint8_t)(b + 1);
    }
    *count = 4;
    return named;
}
#define SAMPLE_DATA (24 + 8 + 6)

static const hd_metadata sample_metadata[] = {{"format", "pt"}, {"note", "line\nline \"x\""}};

static void drop(hd_named_tensor *named, int64_t count) {
    for (int64_t i = 0; i < count; i++) hd_release(named[i].tensor);
}

static void save_sample(const char *to) {
    int64_t count;
    hd_named_tensor *named = sample(&count);
    CHECK(hd_safetensors_save(cx, to, count, named, 2, sample_metadata) == HD_OK);
    drop(named, count);
}

/* ---- round trips */

static void test_round_trip(void) {
    int64_t live = cx->account->live, count;
    hd_named_tensor *named = sample(&count);
    CHECK(hd_safetensors_save(cx, path, count, named, 2, sample_metadata) == HD_OK);
    hd_safetensors *file = hd_safetensors_load(cx, path, false);
    CHECK(file != NULL && file->count == count && file->metadata_count == 2);
    for (int64_t i = 0; i < count; i++) {
        hd_tensor *a = named[i].tensor, *b = file->tensors[i].tensor;
        CHECK(!strcmp(named[i].name, file->tensors[i].name));
        CHECK(a->dtype == b->dtype && a->ndim == b->ndim);
        CHECK(!memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape));
        CHECK(!memcmp(hd_data(a), hd_data(b), (size_t)hd_numel(a) * hd_dtype_size((hd_dtype)a->dtype)));
    }
    for (int i = 0; i < 2; i++) {
        CHECK(!strcmp(sample_metadata[i].key, file->metadata[i].key));
        CHECK(!strcmp(sample_metadata[i].value, file->metadata[i].value));
    }
    uint8_t bytes[4096];
    size_t size = read_bytes(path, bytes, sizeof bytes);
    CHECK((size - SAMPLE_DATA) % 8 == 0); /* the data is aligned for who maps the file */
    hd_safetensors_free(file);
    drop(named, count);
    CHECK(cx->account->live == live);
}

static void test_nothing_at_all(void) {
    CHECK(hd_safetensors_save(cx, path, 0, NULL, 0, NULL) == HD_OK);
    hd_safetensors *file = hd_safetensors_load(cx, path, false);
    CHECK(file != NULL && file->count == 0 && file->metadata_count == 0);
    hd_safetensors_free(file);
}

static void test_truth_values_are_0_and_1(void) {
    uint8_t bytes[256];
    const char *header = "{\"b\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[0,3]}}";
    size_t size = compose(bytes, header, strlen(header), 3);
    memcpy(bytes + size - 3, "\x00\x02\xff", 3);
    write_bytes(path, bytes, size);
    hd_safetensors *file = hd_safetensors_load(cx, path, false);
    CHECK(file != NULL && !memcmp(hd_data(file->tensors[0].tensor), "\0\1\1", 3));
    hd_safetensors_free(file);
}

/* ---- what is refused */

static void test_cut_at_every_byte(void) {
    uint8_t bytes[4096];
    save_sample(path);
    size_t size = read_bytes(path, bytes, sizeof bytes - 1);
    for (size_t n = 0; n < size; n++) {
        write_bytes(path, bytes, n);
        refused("");
    }
    bytes[size] = 0;
    write_bytes(path, bytes, size + 1);
    refused("belong to nothing");
}

#define F32(shape, offsets) "{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void test_hostile_headers(void) {
    refused_header("", 0, "not JSON");
    refused_header("[]", 0, "expected a JSON object");
    refused_header("{} x", 0, "follows the JSON");
    refused_header("{\"a\":1}", 0, "expected a JSON object");
    refused_header("{\"a\":{}}", 0, "dtype is missing");
    refused_header("{\"a\":{\"dtype\":1}}", 0, "dtype is not a string");
    refused_header("{\"a\":{\"dtype\":\"F8\",\"shape\":[],\"data_offsets\":[0,1]}}", 1, "got \"F8\"");
    refused_header("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F64\"}}", 0, "dtype is given twice");
    refused_header("{\"a\":{\"dtype\":\"F32\"}}", 0, "shape is missing");
    refused_header("{\"a\":" F32("2", "[0,8]") "}", 8, "shape is not a list");
    refused_header("{\"a\":" F32("[-1]", "[0,4]") "}", 4, "not a whole number");
    refused_header("{\"a\":" F32("[1.5]", "[0,4]") "}", 4, "not a whole number");
    refused_header("{\"a\":" F32("[1e999]", "[0,4]") "}", 4, "not a whole number");
    refused_header("{\"a\":" F32("[\"1\"]", "[0,4]") "}", 4, "not a whole number");
    refused_header("{\"a\":" F32("[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, "more than 8 dimensions");
    refused_header("{\"a\":" F32("[4294967296,4294967296]", "[0,4]") "}", 4, "too large");
    refused_header("{\"a\":" F32("[9007199254740992,9007199254740992,9007199254740992]", "[0,4]") "}", 4,
                   "too large");
    refused_header("{\"a\":" F32("[2]", "[0]") "}", 8, "two whole numbers");
    refused_header("{\"a\":" F32("[2]", "[0,8,9]") "}", 8, "two whole numbers");
    refused_header("{\"a\":" F32("[2]", "[8,0]") "}", 8, "not inside");
    refused_header("{\"a\":" F32("[2]", "[8,16]") "}", 8, "not inside");
    refused_header("{\"a\":" F32("[2]", "[0,9007199254740992]") "}", 8, "not inside");
    refused_header("{\"a\":" F32("[2]", "[-8,0]") "}", 8, "two whole numbers");
    refused_header("{\"a\":" F32("[2]", "[0,4]") "}", 8, "needs 8 bytes");
    refused_header("{\"a\":" F32("[1]", "[4,8]") "}", 8, "bytes 0 to 4 of the data belong to no tensor");
    refused_header("{\"a\":" F32("[1]", "[0,4]") ",\"b\":" F32("[1]", "[8,12]") "}", 12, "bytes 4 to 8");
    refused_header("{\"a\":" F32("[2]", "[0,8]") ",\"b\":" F32("[1]", "[4,8]") "}", 8, "overlaps \"a\"");
    refused_header("{\"a\":" F32("[2]", "[0,8]") ",\"b\":" F32("[0]", "[4,4]") "}", 8, "overlaps \"a\"");
    refused_header("{\"a\":" F32("[1]", "[0,4]") ",\"a\":" F32("[1]", "[4,8]") "}", 8,
                   "\"a\": is given twice");
    refused_header("{\"a\\u0000b\":" F32("[1]", "[0,4]") "}", 4, "zero character");
    refused_header("{\"\\u001b[2J\":1}", 0, "\"?[2J\"");
    refused_header("{\"__metadata__\":[]}", 0, "__metadata__: expected a JSON object");
    refused_header("{\"__metadata__\":{\"a\":1}}", 0, "\"a\" is not a string");
    refused_header("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "given twice");
}

static void test_zero_bytes_in_the_header(void) {
    uint8_t bytes[64];
    write_bytes(path, bytes, compose(bytes, "{}\0", 3, 0));
    refused("zero byte");
}

static void test_an_escaped_backslash_is_no_zero(void) {
    uint8_t bytes[256];
    const char *header = "{\"a\\\\u0000\":" F32("[]", "[0,4]") "}";
    write_bytes(path, bytes, compose(bytes, header, strlen(header), 4));
    hd_safetensors *file = hd_safetensors_load(cx, path, false);
    CHECK(file != NULL && !strcmp(file->tensors[0].name, "a\\u0000"));
    hd_safetensors_free(file);
}

static void test_lengths_of_the_header(void) {
    const uint64_t lengths[] = {3, 1000, 1u << 31, (uint64_t)1 << 40, INT64_MAX, UINT64_MAX, UINT64_MAX - 7};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint8_t bytes[10] = {0};
        for (int b = 0; b < 8; b++) bytes[b] = (uint8_t)(lengths[i] >> (8 * b));
        memcpy(bytes + 8, "{}", 2);
        write_bytes(path, bytes, sizeof bytes);
        refused("cut short");
    }
}

/* `count` times a piece, behind the header's length. */
static void write_repeated(const char *piece, size_t count) {
    size_t length = strlen(piece), size = length * count;
    char *header = malloc(size);
    uint8_t *bytes = malloc(size + 8);
    CHECK(header != NULL && bytes != NULL);
    for (size_t i = 0; i < count; i++) memcpy(header + i * length, piece, length);
    write_bytes(path, bytes, compose(bytes, header, size, 0));
    free(header);
    free(bytes);
}

static void test_bombs(void) {
    write_repeated("[", 1000000);
    refused("not JSON");
    write_repeated("{\"a\":", 1000000);
    refused("not JSON");
    write_repeated("[0,0,0,0,0,0,0,0,", 1000000);
    refused("more than");
}

/* A thousand tensors on the same megabyte of a file that is nearly all hole. */
static void test_overlaps_cost_no_memory(void) {
    const size_t data = 1 << 20;
    char *header = malloc(200000);
    CHECK(header != NULL);
    size_t length = 0;
    for (int i = 0; i < 1000; i++)
        length += (size_t)sprintf(header + length,
                                  "%c\"t%d\":{\"dtype\":\"U8\",\"shape\":[%zu],\"data_offsets\":[0,%zu]}",
                                  i ? ',' : '{', i, data, data);
    header[length++] = '}';
    uint8_t *bytes = malloc(length + 8);
    CHECK(bytes != NULL);
    write_bytes(path, bytes, compose(bytes, header, length, 0));
    CHECK(truncate(path, (off_t)(8 + length + data)) == 0);
    cx->account->peak = cx->account->live;
    int64_t before = cx->account->live;
    refused("overlaps");
    CHECK(cx->account->peak - before < (int64_t)data);
    free(header);
    free(bytes);
}

static void test_empty_shapes_of_huge_sizes(void) {
    uint8_t bytes[256];
    const char *header = "{\"a\":" F32("[0,1099511627776,1099511627776]", "[0,0]") "}";
    write_bytes(path, bytes, compose(bytes, header, strlen(header), 0));
    hd_safetensors *file = hd_safetensors_load(cx, path, false);
    if (file)
        CHECK(hd_numel(file->tensors[0].tensor) == 0);
    else
        CHECK(says("too large"));
    hd_safetensors_free(file);
}

static void test_what_is_no_file(void) {
    CHECK(hd_safetensors_load(cx, directory, false) == NULL && says("expected a regular file"));
    CHECK(hd_safetensors_load(cx, "/nowhere/at/all", false) == NULL && says("No such file"));
    CHECK(hd_safetensors_load(cx, "/dev/null", false) == NULL && says("expected a regular file"));
    CHECK(hd_safetensors_load(cx, "", false) == NULL && cx->error.status == HD_EIO);
}

static void test_damage(void) {
    uint8_t good[4096], bytes[4096];
    save_sample(path);
    size_t size = read_bytes(path, good, sizeof good);
    int64_t live = cx->account->live;
    int taken = 0;
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        uint64_t state = seed;
        memcpy(bytes, good, size);
        size_t damaged = mutate(&state, bytes, size, sizeof bytes, SAMPLE_DATA, mutate_mend_safetensors);
        write_bytes(path, bytes, damaged);
        hd_safetensors *file = hd_safetensors_load(cx, path, false);
        if (!file) CHECK(cx->error.status == HD_EIO && says(path));
        taken += file != NULL;
        hd_safetensors_free(file);
        CHECK(cx->account->live == live);
    }
    CHECK(taken > 50 && taken < 3000); /* harmless changes and harmful ones were both among them */
}

/* ---- what is not written */

static void test_misuse_when_saving(void) {
    hd_tensor *t = hd_tensor_zeros(cx, HD_F32, 2, (const int64_t[]){2, 3});
    hd_tensor *turned = hd_tensor_view(cx, t, 2, (const int64_t[]){3, 2}, (const int64_t[]){1, 3}, 0);
    hd_named_tensor twice[] = {{"a", t}, {"a", t}}, metadata[] = {{"__metadata__", t}},
                    strided[] = {{"a", turned}};
    int before = entries();
    CHECK(hd_safetensors_save(cx, path, 2, twice, 0, NULL) == HD_EARG && says("given twice"));
    CHECK(hd_safetensors_save(cx, path, 1, metadata, 0, NULL) == HD_EARG && says("__metadata__"));
    CHECK(hd_safetensors_save(cx, path, 1, strided, 0, NULL) == HD_EARG && says("not contiguous"));
    CHECK(entries() == before);
    hd_release(turned);
    hd_release(t);
}

static hd_status save_one(const char *to, int64_t elements) {
    hd_tensor *t = hd_tensor_zeros(cx, HD_F32, 1, &elements);
    CHECK(t != NULL);
    hd_named_tensor named[] = {{"t", t}};
    hd_status status = hd_safetensors_save(cx, to, 1, named, 0, NULL);
    hd_release(t);
    return status;
}

/* The file at path is still `bytes`, and alone. */
static void untouched(const uint8_t *bytes, size_t size, int files) {
    uint8_t now[4096];
    CHECK(read_bytes(path, now, sizeof now) == size && !memcmp(now, bytes, size));
    CHECK(entries() == files);
}

static void test_full_disk(void) {
    uint8_t before[4096];
    save_sample(path);
    size_t size = read_bytes(path, before, sizeof before);
    int files = entries();
    struct rlimit old, small;
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    small = old;
    signal(SIGXFSZ, SIG_IGN);
    const rlim_t limits[] = {0, 4, 8, 50, 100, 5000};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        small.rlim_cur = limits[i];
        CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
        hd_status status = save_one(path, 100000);
        CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
        CHECK(status == HD_EIO && says("writing") && says("too large"));
        untouched(before, size, files);
    }
    signal(SIGXFSZ, SIG_DFL);
}

static void test_places_that_cannot_be_written(void) {
    CHECK(save_one(directory, 1) == HD_EIO && says("expected a regular file"));
    CHECK(save_one("/nowhere/at/all", 1) == HD_EIO && says("No such file"));
    CHECK(save_one("/dev/null", 1) == HD_EIO && says("expected a regular file"));
    char longest[5000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    CHECK(save_one(longest, 1) == HD_EIO && says("too long"));
    longest[250] = 0; /* a name that fits, but nothing longer beside it */
    CHECK(save_one(longest, 1) == HD_EIO && says("too long"));
}

static mode_t mode_of(const char *name) {
    struct stat st;
    CHECK(stat(name, &st) == 0);
    return st.st_mode & 0777;
}

static void test_permissions_are_kept(void) {
    save_sample(path);
    CHECK(chmod(path, 0640) == 0);
    CHECK(save_one(path, 3) == HD_OK && mode_of(path) == 0640);
    unlink(path);
    mode_t mask = umask(027);
    CHECK(save_one(path, 3) == HD_OK && mode_of(path) == 0640);
    umask(mask);
}

static void test_symbolic_links(void) {
    char link[sizeof path + 8], target[sizeof path + 8];
    snprintf(link, sizeof link, "%s.link", path);
    snprintf(target, sizeof target, "%s.target", path);
    save_sample(target);
    CHECK(symlink(target, link) == 0);
    CHECK(save_one(link, 3) == HD_OK);
    struct stat st;
    CHECK(lstat(link, &st) == 0 && S_ISLNK(st.st_mode)); /* it is the target that was replaced */
    hd_safetensors *file = hd_safetensors_load(cx, target, false);
    CHECK(file != NULL && file->count == 1);
    hd_safetensors_free(file);
    CHECK(unlink(target) == 0);
    CHECK(save_one(link, 3) == HD_EIO && says("leads to no file"));
    CHECK(unlink(link) == 0);
}

/* ---- every allocation may fail */

static void test_failing_allocations(void) {
    uint8_t before[4096];
    save_sample(path);
    size_t size = read_bytes(path, before, sizeof before);
    int files = entries(), failures = 0;
    int64_t live = cx->account->live, count;
    for (int64_t n = 1;; n++) {
        cx->account->fail_at = n;
        hd_safetensors *file = hd_safetensors_load(cx, path, false);
        bool all = cx->account->fail_at > 0;
        cx->account->fail_at = 0;
        hd_safetensors_free(file);
        CHECK(cx->account->live == live);
        if (all) break;
        CHECK(file == NULL && cx->error.status == HD_ENOMEM && says("bytes"));
        failures++;
    }
    CHECK(failures > 10);
    hd_named_tensor *named = sample(&count);
    live = cx->account->live;
    for (int64_t n = 1;; n++) {
        cx->account->fail_at = n;
        hd_status status = hd_safetensors_save(cx, path, count, named, 0, NULL);
        bool all = cx->account->fail_at > 0;
        cx->account->fail_at = 0;
        CHECK(cx->account->live == live);
        if (all) break;
        CHECK(status == HD_ENOMEM && says("bytes"));
        untouched(before, size, files);
    }
    drop(named, count);
}

int main(void) {
    cx = hd_ctx_new(1);
    CHECK(cx != NULL && mkdtemp(directory) != NULL);
    snprintf(path, sizeof path, "%s/file", directory);
    test_round_trip();
    test_nothing_at_all();
    test_truth_values_are_0_and_1();
    test_cut_at_every_byte();
    test_hostile_headers();
    test_zero_bytes_in_the_header();
    test_an_escaped_backslash_is_no_zero();
    test_lengths_of_the_header();
    test_bombs();
    test_overlaps_cost_no_memory();
    test_empty_shapes_of_huge_sizes();
    test_what_is_no_file();
    test_damage();
    test_misuse_when_saving();
    test_full_disk();
    test_places_that_cannot_be_written();
    test_permissions_are_kept();
    test_symbolic_links();
    test_failing_allocations();
    unlink(path);
    CHECK(rmdir(directory) == 0);
    hd_ctx_free(cx);
    return checks_done();
}
