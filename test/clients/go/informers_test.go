package clients

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/features"
	featuretesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/workqueue"
)

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

func TestInformers(t *testing.T) {
	for _, isWatchList := range []bool{true, false} {
		for name, contentType := range contentTypes {
			t.Run(fmt.Sprintf("WatchList=%v, %s", isWatchList, name), func(t *testing.T) {
				featuretesting.SetFeatureDuringTest(t, features.WatchListClient, isWatchList)
				queries := &queryLog{}
				config := config(t)
				config.ContentType = contentType
				config.AcceptContentTypes = contentType + ",application/json"
				config.Wrap(queries.wrap)
				sharedInformer(t, config)
				equal(t, "asked with sendInitialEvents", queries.any("sendInitialEvents=true"), isWatchList)
				equal(t, "asked for a list", queries.any("limit=500"), !isWatchList)
			})
		}
	}
}

// sharedInformer follows five objects through their lives.
func sharedInformer(t *testing.T, config *rest.Config) {
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	space := namespace(t)
	maps := client.CoreV1().ConfigMaps(space)
	for i := range 3 {
		_, err := maps.Create(ctx, configMap(fmt.Sprintf("before-%d", i), map[string]string{"of": "us"}), metav1.CreateOptions{})
		must(t, err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(space),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "of=us" }))
	informer := factory.Core().V1().ConfigMaps()
	events := make(chan string, 100)
	_, err = informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { events <- "add " + object.(*corev1.ConfigMap).Name },
		UpdateFunc: func(_, object any) { events <- "update " + object.(*corev1.ConfigMap).Name },
		DeleteFunc: func(object any) { events <- "delete " + object.(*corev1.ConfigMap).Name },
	})
	must(t, err)
	stop, cancel := context.WithCancel(ctx)
	defer factory.Shutdown()
	defer cancel()
	factory.Start(stop.Done())
	for _, synced := range factory.WaitForCacheSync(stop.Done()) {
		equal(t, "synced", synced, true)
	}
	listed, err := informer.Lister().ConfigMaps(space).List(labels.Everything())
	must(t, err)
	equal(t, "objects in the cache", len(listed), 3)
	expect := func(wanted ...string) {
		t.Helper()
		var got []string
		for range wanted {
			select {
			case event := <-events:
				got = append(got, event)
			case <-time.After(30 * time.Second):
				t.Fatalf("got only %v of %v", got, wanted)
			}
		}
		slices.Sort(got)
		equal(t, "events", strings.Join(got, ", "), strings.Join(wanted, ", "))
	}
	expect("add before-0", "add before-1", "add before-2")
	_, err = maps.Create(ctx, configMap("after", map[string]string{"of": "us"}), metav1.CreateOptions{})
	must(t, err)
	expect("add after")
	must(t, patchLabels(client, space, "after", `{"more":"yes"}`))
	expect("update after")
	must(t, patchLabels(client, space, "after", `{"of":"them"}`))
	expect("delete after")
	must(t, maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "of=us"}))
	expect("delete before-0", "delete before-1", "delete before-2")
}

func TestOtherInformers(t *testing.T) {
	space := namespace(t)
	dynamicClient, err := dynamic.NewForConfig(config(t))
	must(t, err)
	metadataClient, err := metadata.NewForConfig(config(t))
	must(t, err)
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	for name, informer := range map[string]cache.SharedIndexInformer{
		"dynamic":  dynamicinformer.NewFilteredDynamicInformer(dynamicClient, configMaps, space, 0, cache.Indexers{}, nil).Informer(),
		"metadata": metadatainformer.NewFilteredMetadataInformer(metadataClient, configMaps, space, 0, cache.Indexers{}, nil).Informer(),
	} {
		added := make(chan struct{}, 100)
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
			if strings.HasPrefix(object.(metav1.Object).GetName(), "new-") {
				added <- struct{}{}
			}
		}})
		must(t, err)
		go informer.Run(stop.Done())
		if !cache.WaitForCacheSync(stop.Done(), informer.HasSynced) {
			t.Fatal("no sync: " + name)
		}
		_, err = clientset(t).CoreV1().ConfigMaps(space).Create(ctx, configMap("new-"+name, nil), metav1.CreateOptions{})
		must(t, err)
		within(t, "an addition: "+name, added)
	}
}

// A watch that the server ends goes on where it ended.
func TestRetryWatcher(t *testing.T) {
	space := namespace(t)
	client := clientset(t)
	list, err := client.CoreV1().ConfigMaps(space).List(ctx, metav1.ListOptions{})
	must(t, err)
	seconds := int64(1)
	var watches atomic.Int32
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			watches.Add(1)
			options.TimeoutSeconds = &seconds
			options.FieldSelector = "metadata.name!=kube-root-ca.crt"
			return client.CoreV1().ConfigMaps(space).Watch(ctx, options)
		},
	})
	must(t, err)
	defer watcher.Stop()
	for i := range 3 {
		name := fmt.Sprintf("number-%d", i)
		_, err := client.CoreV1().ConfigMaps(space).Create(ctx, configMap(name, nil), metav1.CreateOptions{})
		must(t, err)
		seen(t, watcher, "ADDED "+name)
		begun := watches.Load()
		eventually(t, "another watch", func() (bool, error) { return watches.Load() > begun, nil })
	}
}

func TestLeaderElection(t *testing.T) {
	space := namespace(t)
	client := clientset(t)
	order := make(chan string, 10)
	run := func(ctx context.Context, name string) {
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta: metav1.ObjectMeta{Name: "leader", Namespace: space}, Client: client.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: name},
			},
			LeaseDuration: 2 * time.Second, RenewDeadline: 1500 * time.Millisecond, RetryPeriod: 200 * time.Millisecond,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { order <- name },
				OnStoppedLeading: func() {},
			},
		})
	}
	first, stepDown := context.WithCancel(ctx)
	second, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { run(first, "first") })
	equal(t, "leader", <-order, "first")
	all.Go(func() { run(second, "second") })
	stepDown()
	equal(t, "leader", <-order, "second")
	stop()
	all.Wait()
}

// The pattern of every controller: informer, queue, worker.
func TestWorkQueue(t *testing.T) {
	space := namespace(t)
	client := clientset(t)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(space))
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	informer := factory.Core().V1().ConfigMaps()
	_, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { queue.Add(object.(*corev1.ConfigMap).Name) },
	})
	must(t, err)
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	factory.Start(stop.Done())
	factory.WaitForCacheSync(stop.Done())
	var worker sync.WaitGroup
	worker.Go(func() {
		for {
			name, isOver := queue.Get()
			if isOver {
				return
			}
			if err := patchLabels(client, space, name, `{"seen":"yes"}`); err != nil {
				queue.AddRateLimited(name)
			} else {
				queue.Forget(name)
			}
			queue.Done(name)
		}
	})
	for i := range 20 {
		_, err := client.CoreV1().ConfigMaps(space).Create(ctx, configMap(fmt.Sprint("item-", i), nil), metav1.CreateOptions{})
		must(t, err)
	}
	eventually(t, "every object's label", func() (bool, error) {
		list, err := client.CoreV1().ConfigMaps(space).List(ctx, metav1.ListOptions{LabelSelector: "seen=yes"})
		return err == nil && len(list.Items) == 21, err
	})
	queue.ShutDown()
	worker.Wait()
}

// queryLog keeps the query of each request.
type queryLog struct {
	mutex sync.Mutex
	all   []string
}

func (log *queryLog) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		log.mutex.Lock()
		log.all = append(log.all, request.URL.RawQuery)
		log.mutex.Unlock()
		return next.RoundTrip(request)
	})
}

func (log *queryLog) any(part string) bool {
	log.mutex.Lock()
	defer log.mutex.Unlock()
	return slices.ContainsFunc(log.all, func(query string) bool { return strings.Contains(query, part) })
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
